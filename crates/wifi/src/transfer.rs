//! Files over the kernel's TCP, with their sums, and how a connection ended: in a clean end or a reset.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

const CHUNK: usize = 1 << 16;

/// What one end saw.
#[derive(Debug, Serialize, Deserialize)]
pub struct Seen {
    /// Bytes that were written to the connection, or read from it.
    pub bytes: u64,
    /// SHA-256 of these, in hexadecimal digits.
    pub sha256: String,
    /// "clean", or the error's name.
    pub end: String,
    /// When it began and ended, in seconds of CLOCK_MONOTONIC.
    pub span: [f64; 2],
}

/// Bytes that only their seed tells (xorshift; Marsaglia 2003).
struct Noise(u64);

impl Noise {
    fn fill(&mut self, buffer: &mut [u8]) {
        for word in buffer.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            word.copy_from_slice(&self.0.to_le_bytes()[..word.len()]);
        }
    }
}

/// Keeps account of a connection.
struct Account {
    began: f64,
    bytes: u64,
    sum: Sha256,
}

impl Account {
    fn begin() -> Account {
        Account { began: monotonic(), bytes: 0, sum: Sha256::new() }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.sum.update(bytes);
    }

    fn end(self, result: io::Result<()>) -> Seen {
        let sum = self.sum.finalize();
        Seen {
            bytes: self.bytes,
            sha256: sum.iter().map(|byte| format!("{byte:02x}")).collect(),
            end: result.map_or_else(|error| error.kind().to_string(), |()| "clean".into()),
            span: [self.began, monotonic()],
        }
    }
}

fn monotonic() -> f64 {
    airtcp_linux::sys::clock::now().as_nanos() as f64 / 1e9
}

/// Sends so many bytes and the end of the stream, and waits until the other end closes, too.
///
/// # Errors
/// Nobody answers.
pub fn send(to: SocketAddr, bytes: u64, seed: u64) -> io::Result<Seen> {
    let mut stream = TcpStream::connect(to)?;
    let mut account = Account::begin();
    let mut run = || {
        let (mut noise, mut buffer) = (Noise(seed | 1), vec![0; CHUNK]);
        while account.bytes < bytes {
            let length = (bytes - account.bytes).min(CHUNK as u64) as usize;
            noise.fill(&mut buffer[..length]);
            stream.write_all(&buffer[..length])?;
            account.add(&buffer[..length]);
        }
        stream.shutdown(Shutdown::Write)?;
        let rest = stream.read(&mut buffer)?;
        if rest > 0 { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    };
    let result = run();
    Ok(account.end(result))
}

/// Receives so many connections, all at a time if they come so; calls `each` for every one that has ended. One on which
/// nothing comes for `patience` ends with an error.
///
/// # Errors
/// The address is taken.
pub fn receive(at: SocketAddr, count: usize, patience: Duration, each: impl Fn(Seen) + Sync) -> io::Result<()> {
    let listener = TcpListener::bind(at)?;
    std::thread::scope(|scope| {
        for _ in 0..count {
            let (stream, _) = listener.accept()?;
            scope.spawn(|| each(take(stream, patience)));
        }
        Ok(())
    })
}

fn take(mut stream: TcpStream, patience: Duration) -> Seen {
    let mut account = Account::begin();
    let mut run = || {
        SockRef::from(&stream).set_read_timeout(Some(patience))?;
        let mut buffer = vec![0; CHUNK];
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                length => account.add(&buffer[..length]),
            }
        }
    };
    let result = run();
    account.end(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn both_ends_see_the_same_bytes_and_a_clean_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let seen = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| receive(address, 1, Duration::from_secs(5), |one| seen.lock().unwrap().push(one)).unwrap());
            let sent = std::iter::repeat_with(|| send(address, 200_001, 3)).find_map(Result::ok).unwrap();
            assert_eq!((sent.bytes, sent.end.as_str()), (200_001, "clean"));
            while seen.lock().unwrap().is_empty() {
                std::thread::yield_now();
            }
            let seen = seen.lock().unwrap();
            assert_eq!((seen[0].bytes, &seen[0].sha256, seen[0].end.as_str()), (200_001, &sent.sha256, "clean"));
        });
    }

    #[test]
    fn a_stream_that_breaks_off_has_no_clean_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        sender.write_all(&[7; 100]).unwrap();
        let taker = std::thread::spawn(|| take(stream, Duration::from_secs(5)));
        std::thread::sleep(Duration::from_millis(50));
        SockRef::from(&sender).set_linger(Some(Duration::ZERO)).unwrap();
        drop(sender);
        let seen = taker.join().unwrap();
        assert_eq!((seen.bytes, seen.end.as_str()), (100, "connection reset"));
    }
}
