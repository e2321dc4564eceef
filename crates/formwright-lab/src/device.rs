//! Where a run is computed: on the CPU, or on an NVIDIA card.

use std::fmt;

use formwright::error::{Error, Result};

/// Where a run is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Device {
    /// The processor.
    Cpu,
    /// An NVIDIA card.
    Cuda,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        })
    }
}

impl Device {
    /// Refuses a device that is not there. The library under us panics where the driver is missing, so that we look first.
    pub fn check(self) -> Result<()> {
        if self == Self::Cpu {
            return Ok(());
        }
        if !cfg!(feature = "cuda") {
            return Err(Error::input("this formwright-lab was built without CUDA")
                .note("try", "cargo build --release -p formwright-lab --features cuda, or --device cpu"));
        }
        let driver = "/proc/driver/nvidia/version";
        if cfg!(target_os = "linux") && !std::path::Path::new(driver).exists() {
            return Err(Error::input("CUDA was asked for, and there is no NVIDIA driver")
                .note("looked", format!("for {driver}"))
                .note("try", "--device cpu"));
        }
        Ok(())
    }
}
