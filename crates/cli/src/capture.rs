//! `airtcp run --pcap`: which runs are captured, and where the files went.

use crate::Failure;
use crate::output::say;
use airtcp_experiment::Scenario;
use airtcp_experiment::capture::{self, CaptureSettings};
use airtcp_experiment::results::Results;
use anyhow::anyhow;
use clap::Args;
use std::path::Path;

#[derive(Debug, Args)]
pub(crate) struct CaptureArguments {
    /// Capture the packets of the first run of each cell as pcapng files for Wireshark, or only of the cells with these
    /// numbers (from 0, in the order of the file); at most 16 files of 256 MiB
    #[arg(long, value_name = "CELLS", num_args = 0..=1, require_equals = true, default_missing_value = "all",
          conflicts_with = "live")]
    pcap: Option<String>,
    /// Bytes to keep of each captured packet; 65535 keeps everything, so that Wireshark can verify checksums
    #[arg(long, value_name = "BYTES", requires = "pcap", default_value_t = CaptureSettings::default().snap_len,
          value_parser = clap::value_parser!(u32).range(40..=65535))]
    snaplen: u32,
}

impl CaptureArguments {
    /// The cells to capture; looked at before anything is run.
    pub(crate) fn cells(&self, scenario: &Scenario) -> Result<Vec<usize>, Failure> {
        let Some(wanted) = &self.pcap else { return Ok(Vec::new()) };
        if wanted == "all" {
            return capture::select(scenario, None).map_err(Failure::input);
        }
        let number = |part: &str| {
            part.trim().parse::<usize>().map_err(|_| {
                Failure::input(anyhow!(
                    "--pcap={wanted}: '{part}' is not the number of a cell; write --pcap=0,3 for cells 0 and 3, or --pcap for all"
                ))
            })
        };
        let cells = wanted.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        capture::select(scenario, Some(&cells)).map_err(Failure::input)
    }

    /// Captures `cells` below `directory`; a line that says what is there now.
    pub(crate) fn write(
        &self,
        results: &Results<'_>,
        cells: &[usize],
        directory: &Path,
    ) -> Result<Option<String>, Failure> {
        if cells.is_empty() {
            return Ok(None);
        }
        let directory = directory.join(capture::DIRECTORY);
        let settings = CaptureSettings { snap_len: self.snaplen, ..CaptureSettings::default() };
        let written = capture::write(results, cells, &directory, settings)?;
        for file in written.iter().filter(|file| file.left_out > 0) {
            let (path, limit) = (file.path.display(), settings.max_bytes >> 20);
            say!(
                "airtcp: {path} reached its limit of {limit} MiB and lacks {} packets; lower --snaplen or the duration",
                file.left_out
            );
        }
        let megabytes = written.iter().map(|file| file.bytes).sum::<u64>() as f64 / 1e6;
        let files = if written.len() == 1 { "file" } else { "files" };
        Ok(Some(format!("captures {} ({} {files}, {megabytes:.1} MB)", directory.display(), written.len())))
    }
}
