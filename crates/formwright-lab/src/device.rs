//! The device that computes a run: the CPU, or an NVIDIA card by one of two libraries.
//!
//! | device | what it needs | kernels |
//! |---|---|---|
//! | `cpu` | nothing | burn's Flex |
//! | `cuda` | the driver and NVRTC, at run time | burn's own, compiled and tuned at the first run: minutes |
//! | `libtorch` | PyTorch's libraries, at build and at run time | PyTorch's: no waiting |

use std::fmt;

use formwright::error::{Error, Result};

/// The device that computes a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Device {
    /// The processor.
    Cpu,
    /// An NVIDIA card, by burn's kernels.
    Cuda,
    /// An NVIDIA card if there is one, by PyTorch's libraries.
    Libtorch,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Libtorch => "libtorch",
        })
    }
}

impl Device {
    /// Refuses a device that is not there. The library below panics if the driver is missing, so we look first.
    pub fn check(self) -> Result<()> {
        let (there, library) = match self {
            Self::Cpu => (true, ""),
            Self::Cuda => (cfg!(feature = "cuda"), "CUDA"),
            Self::Libtorch => (cfg!(feature = "libtorch"), "LibTorch"),
        };
        if !there {
            // Without it a LibTorch that sees no card is fetched.
            let by = if self == Self::Libtorch { "LIBTORCH_USE_PYTORCH=1 " } else { "" };
            let how = format!("{by}cargo build --release -p formwright-lab --features {self}, or --device cpu");
            return Err(Error::input(format!("this formwright-lab was built without {library}")).note("try", how));
        }
        if self != Self::Cuda {
            return Ok(());
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

/// The card that LibTorch sees; or the processor, one thread of it for each run, as elsewhere.
#[cfg(feature = "libtorch")]
pub fn libtorch() -> burn::backend::libtorch::LibTorchDevice {
    use burn::backend::libtorch::LibTorchDevice;
    if tch::Cuda::is_available() {
        return LibTorchDevice::Cuda(0);
    }
    tch::set_num_threads(1);
    LibTorchDevice::Cpu
}
