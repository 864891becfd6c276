//! What a profile-guided build of this program learns from (`scripts/guided`): every kind of network of the race, none of
//! them with the numbers of one that is raced.

use crate::cell::Cell;
use crate::dumbbell::Dumbbell;
use crate::hold;
use crate::network::Network;

/// Runs them.
pub fn run() {
    for (flows, mbit, delay_ms, queue, seconds) in [(30, 60, 13, 150, 40), (200, 400, 8, 900, 8), (1, 16, 31, 70, 300)]
    {
        for modern in [false, true] {
            Dumbbell { modern, ..Dumbbell::new(flows, mbit, delay_ms, queue, seconds) }.run();
        }
    }
    let cell = Cell {
        stations: 7,
        queue: 300,
        seconds: 40,
        wired: false,
        aggregated: false,
        eifs: false,
        idle: 0,
        as_tcp: false,
    };
    cell.run();
    Cell { stations: 60, eifs: true, ..cell.clone() }.run();
    Cell { stations: 12, wired: true, ..cell.clone() }.run();
    Cell { stations: 12, seconds: 10, wired: true, aggregated: true, ..cell.clone() }.run();
    for stations in [7, 60] {
        Cell { stations, seconds: 100, wired: true, as_tcp: true, ..cell.clone() }.run();
    }
    hold::train();
}
