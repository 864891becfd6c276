//! What the programs are told when they are loaded.

/// `struct settings` of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    pub link: u32,
    pub out: u32,
    pub r#in: u32,
    pub has_mac: bool,
    pub control_port: u16,
}

impl Settings {
    pub fn bytes(&self) -> Vec<u8> {
        let words = [self.link, self.out, self.r#in, u32::from(self.has_mac), u32::from(self.control_port)];
        words.into_iter().flat_map(u32::to_ne_bytes).collect()
    }
}
