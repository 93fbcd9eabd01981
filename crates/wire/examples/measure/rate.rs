//! A flood through a rate: what the wire hands over in all, and in the fullest 10 ms, by its own
//! witness: what a receiver sees depends on when it is woken up.

use std::fs::File;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use culvert_wire::direction::priority::{Urgency, run_as};
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::floods::cpu_s;
use crate::{connect, sleep_until};

const FRAME_BITS: f64 = 1514.0 * 8.0;
const WINDOW: Duration = Duration::from_millis(10);

pub fn rate(name: &str, option: &str, bps: f64, length: Duration) {
    let (a, _b, mut wire) = connect(&["--rate", option, "--interval-ms", "1000000"]);
    let ring_bytes = (bps / 8.0 * length.as_secs_f64() * 1.2) as u64 + (1 << 20);
    let record =
        format!("{{\"command\":\"record\",\"ring_bytes\":{ring_bytes},\"packet_bytes\":64}}");
    assert_eq!(wire.say(&record)["event"], "done");
    let offered = a.run(move || {
        // a sender that has to wait for its processor sends too little, and then too much at once
        run_as(Urgency::OnTime);
        let socket = UdpSocket::bind("198.18.0.1:0").expect("a socket");
        socket.connect("198.18.0.2:7000").expect("an address");
        let start = Instant::now();
        let gap = Duration::from_secs_f64(FRAME_BITS / (bps * 1.1));
        let mut sent = 0;
        while start.elapsed() < length {
            sleep_until(start + gap * (sent / 16 * 16));
            // the far end may say that nobody listens
            let _ = socket.send(&[0; 1472]);
            sent += 1;
        }
        f64::from(sent) * FRAME_BITS / start.elapsed().as_secs_f64()
    });
    let path = std::env::temp_dir().join(format!("measure-{}.pcapng", std::process::id()));
    let save = format!("{{\"command\":\"save\",\"path\":\"{}\"}}", path.display());
    assert_eq!(wire.say(&save)["event"], "done");
    let times = times(&path);
    std::fs::remove_file(&path).expect("it was ours");
    // without the first tenth, in which the queue fills
    let times = &times[times.len() / 10..];
    let seconds = (times[times.len() - 1] - times[0]).as_secs_f64();
    let mean = (times.len() - 1) as f64 * FRAME_BITS / seconds;
    let (mut first, mut most) = (0, 0);
    for last in 0..times.len() {
        while times[last].saturating_sub(times[first]) > WINDOW {
            first += 1;
        }
        most = most.max(last - first + 1);
    }
    let cpu = cpu_s(wire.child.id());
    let (end, _) = wire.end();
    println!(
        "{{\"case\":\"{name}\",\"asked_bps\":{bps},\"offered_bps\":{offered:.0},\"delivered_bps\":{mean:.0},\"error_percent\":{:.4},\"fullest_10ms_packets\":{most},\"allowed\":{:.1},\"ring_full\":{},\"late\":{},\"latest_ns\":{},\"queue_full\":{},\"wire_cpu_s\":{cpu:.2}}}",
        (mean / bps - 1.0) * 100.0,
        bps * WINDOW.as_secs_f64() / FRAME_BITS + 1.0,
        end["a_to_b"]["ring_full_packets"],
        end["a_to_b"]["late_packets"],
        end["a_to_b"]["latest_ns"],
        end["a_to_b"]["queue_full_packets"],
    );
}

/// When packets of full length were handed to b.
fn times(path: &std::path::Path) -> Vec<Duration> {
    let mut reader = PcapNgReader::new(File::open(path).expect("saved")).expect("pcapng");
    let mut times = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block")
            && packet.original_len == 1514
        {
            times.push(packet.timestamp);
        }
    }
    times
}
