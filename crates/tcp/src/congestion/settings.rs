//! The settings of a controller: typed, and all that it is made from.

use super::Controller;
use airtcp_core::parameters::{Field, NoParameters, ParameterError, Parameters};
use airtcp_core::{Given, Value};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What a flow sets of its controller, and the controllers that follow from it.
pub trait ControllerSettings: Parameters + Send + Sync {
    /// Those that were set, with their values.
    fn given(&self) -> Vec<Field>;

    /// A controller for one connection.
    fn build(&self) -> Box<dyn Controller>;
}

struct Settings<S, C> {
    values: Given<S>,
    make: fn(S) -> C,
}

/// The default settings of a controller that `make` makes.
pub fn settings_for<S: Parameters + Default + Clone + Send + Sync + 'static, C: Controller + 'static>(
    make: fn(S) -> C,
) -> Box<dyn ControllerSettings> {
    Box::new(Settings { values: Given::default(), make })
}

/// The settings of a controller that has none.
pub fn plain<C: Controller + Default + 'static>() -> Box<dyn ControllerSettings> {
    settings_for(|_: NoParameters| C::default())
}

impl<S: Parameters, C> Parameters for Settings<S, C> {
    fn fields(&self) -> Vec<Field> {
        self.values.fields()
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError> {
        self.values.set(key, value)
    }
}

impl<S: Parameters + Clone + Send + Sync, C: Controller + 'static> ControllerSettings for Settings<S, C> {
    fn given(&self) -> Vec<Field> {
        self.values.given()
    }

    fn build(&self) -> Box<dyn Controller> {
        Box::new((self.make)(self.values.parameters.clone()))
    }
}
