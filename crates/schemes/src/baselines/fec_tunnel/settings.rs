//! Parameters of the FEC tunnel: those of UDPspeeder with its defaults, read in fec_manager.h at commit
//! 0261c75, fec_manager.cpp at ecc9092 and the README.

use airtcp_core::{ByteSize, Duration, parameters};

parameters! {
    /// Parameters of the FEC tunnel.
    pub struct FecTunnelSettings {
        /// Shards that carry the data of a block at most.
        pub k: u8 = 20, "UDPspeeder fec_manager.cpp: -f 20:10";
        /// Shards of redundancy behind them, however few there are of data.
        pub r: u8 = 10, "UDPspeeder fec_manager.cpp: -f 20:10";
        /// Age of its first packet at which a block leaves before it is full.
        pub timeout: Duration = Duration::from_millis(8), "UDPspeeder fec_manager.h: --timeout 8";
        /// Longest shard, without the 40 bytes in front of it; a block that is full has k of them.
        pub mtu: u32 = 1250, "UDPspeeder README: --mtu 1250";
        /// Most packets of a block.
        pub queue_len: u32 = 200, "UDPspeeder fec_manager.h: --queue-len 200";
        /// Shards that the far end keeps; blocks that are older are given up.
        pub decode_buf: u32 = 2000, "UDPspeeder README: --decode-buf 2000";
        /// Bytes of shards that wait while the link refuses them; more are dropped.
        pub sock_buf: ByteSize = ByteSize(1024 << 10), "UDPspeeder README: --sock-buf 1024";
        /// Time between two HELLO messages; longer where they would take more than a quarter of the link.
        pub hello: Duration = Duration::from_millis(100), "as gsnoop";
        /// Silence of the other end after which everything passes untouched.
        pub peer_timeout: Duration = Duration::from_secs(1), "as gsnoop";
    }
}
