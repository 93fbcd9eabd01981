//! A flood through a rate: what the wire hands over in all, and in the fullest 10 ms, by the kernel's
//! stamps of arrivals: what a receiver sees depends on when it is woken up.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use culvert_wire::direction::priority::{Urgency, run_as};

use crate::floods::{cpu_s, option};
use crate::{connect, sleep_until, stamps};

const FRAME_BITS: f64 = 1514.0 * 8.0;
const WINDOW: Duration = Duration::from_millis(10);

pub fn rate(name: &str, asked: &str, bps: f64, length: Duration) {
    let (a, b, wire) = connect(&["--rate", asked, "--interval-ms", "1000000"]);
    let receiver = b.run(|| UdpSocket::bind("198.18.0.2:7000").expect("a socket"));
    assert!(stamps::arrivals(&receiver));
    option(
        &receiver,
        libc::SOL_SOCKET,
        libc::SO_RCVBUFFORCE,
        stamps::QUEUE_BYTES,
    );
    receiver
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("a deadline");
    let receiving = std::thread::spawn(move || {
        let stamped = std::iter::from_fn(|| stamps::next_arrival(&receiver));
        stamped
            .map(|(_, at_ns)| Duration::from_nanos(at_ns))
            .collect::<Vec<_>>()
    });
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
            let _ = socket.send(&[0; 1472]);
            sent += 1;
        }
        f64::from(sent) * FRAME_BITS / start.elapsed().as_secs_f64()
    });
    let times = receiving.join().expect("the receiver");
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
