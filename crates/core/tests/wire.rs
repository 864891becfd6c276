//! The wire form of packets, against etherparse: what it writes we read, what we write or edit it reads.

mod common;
use airtcp_core::{Ecn, Packet, Payload, SackBlocks, Segment, SeqNum, TcpFlags, TcpOptions, Timestamps};
use bytes::Bytes;
use common::Reference;
use etherparse::{IpHeaders, Ipv4Options, TcpHeader, TcpOptionElement};
use proptest::collection::vec;
use proptest::prelude::*;

fn option() -> impl Strategy<Value = TcpOptionElement> {
    use TcpOptionElement::*;
    prop_oneof![
        Just(Noop),
        any::<u16>().prop_map(MaximumSegmentSize),
        any::<u8>().prop_map(WindowScale),
        Just(SelectiveAcknowledgementPermitted),
        (any::<(u32, u32)>(), 0usize..4, any::<[(u32, u32); 3]>()).prop_map(|(first, more, blocks)| {
            SelectiveAcknowledgement(first, std::array::from_fn(|n| (n < more).then_some(blocks[n])))
        }),
        any::<(u32, u32)>().prop_map(|(value, echo)| Timestamp(value, echo)),
    ]
}

/// Options in any order, as many as fit.
fn options() -> impl Strategy<Value = Vec<TcpOptionElement>> {
    vec(option(), 0..6).prop_map(|mut options| {
        while TcpHeader::default().set_options(&options).is_err() {
            options.pop();
        }
        options
    })
}

prop_compose! {
    fn tcp_header()(
        ports in any::<(u16, u16)>(),
        numbers in any::<(u32, u32)>(),
        flags in 0u16..0x200,
        window in any::<u16>(),
        urgent in any::<u16>(),
        options in options(),
    ) -> TcpHeader {
        let mut header = TcpHeader::new(ports.0, ports.1, numbers.0, window);
        header.acknowledgment_number = numbers.1;
        header.urgent_pointer = urgent;
        header.set_options(&options).expect("options() keeps what fits");
        let mut reference = Reference::v4(header, &[]);
        reference.set_flags(flags);
        reference.tcp
    }
}

prop_compose! {
    fn reference()(
        tcp in tcp_header(),
        payload in prop_oneof![vec(any::<u8>(), 0..80), Just(Vec::new())],
        kind in 0u8..4,
        class in any::<u8>(),
        hops in any::<u8>(),
        ip_options in vec(any::<[u8; 4]>(), 0..10),
        units in 0usize..3,
    ) -> Reference {
        let mut reference = match kind {
            0 | 1 => Reference::v4(tcp, &payload),
            2 => Reference::v6(tcp, &payload),
            _ => Reference::v6(tcp, &payload).with_extension_headers(units),
        };
        match &mut reference.ip {
            IpHeaders::Ipv4(ip, _) => {
                (ip.dscp, ip.ecn) = ((class >> 2).try_into().unwrap(), (class & 3).try_into().unwrap());
                ip.time_to_live = hops;
                if kind == 1 {
                    ip.options = Ipv4Options::try_from(ip_options.concat().as_slice()).unwrap();
                }
            }
            IpHeaders::Ipv6(ip, _) => (ip.traffic_class, ip.hop_limit) = (class, hops),
        }
        reference
    }
}

/// The options as etherparse's own iterator finds them; a later one of a kind wins.
fn options_of(header: &TcpHeader) -> TcpOptions {
    let mut options = TcpOptions::default();
    for element in header.options_iterator() {
        match element.expect("etherparse wrote these options") {
            TcpOptionElement::Noop => {}
            TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
            TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                options.sack = SackBlocks::default();
                for (left, right) in std::iter::once(first).chain(more.into_iter().flatten()) {
                    options.sack.push(SeqNum(left), SeqNum(right));
                }
            }
            TcpOptionElement::Timestamp(value, echo) => options.timestamps = Some(Timestamps { value, echo }),
        }
    }
    options
}

fn assert_same_fields(packet: &Packet, reference: &Reference) {
    let ip = packet.ip();
    assert_eq!((ip.source, ip.destination), reference.addresses());
    assert_eq!((ip.traffic_class, ip.hop_limit), reference.class_and_hops());
    assert_eq!(usize::from(ip.header_len), reference.ip.header_len());
    let tcp = packet.tcp().expect("an unfragmented TCP segment is parsed");
    assert_eq!((tcp.source_port, tcp.destination_port), (reference.tcp.source_port, reference.tcp.destination_port));
    assert_eq!(tcp.sequence.0, reference.tcp.sequence_number);
    assert_eq!(tcp.acknowledgment.0, reference.tcp.acknowledgment_number);
    assert_eq!(tcp.flags, reference.flags());
    assert_eq!((tcp.window, tcp.urgent), (reference.tcp.window_size, reference.tcp.urgent_pointer));
    assert_eq!(tcp.options, options_of(&reference.tcp));
}

proptest! {
    #[test]
    fn what_etherparse_writes_is_read_with_the_same_fields(reference in reference()) {
        let bytes = reference.to_bytes();
        let packet = Packet::parse(Bytes::from(bytes.clone())).unwrap();
        assert_same_fields(&packet, &reference);
        prop_assert_eq!(packet.payload(), Payload::Bytes(&reference.payload));
        prop_assert_eq!(packet.wire_len() as usize, bytes.len());
        prop_assert!(packet.checksum_holds());
        prop_assert_eq!(&packet.to_wire()[..], &bytes[..]);
    }

    #[test]
    fn every_edit_is_read_by_etherparse_and_keeps_the_checksums(
        reference in reference(),
        numbers in any::<(u32, u32)>(),
        window in any::<u16>(),
        flags in 0u16..0x200,
        timestamps in any::<(u32, u32)>(),
        ecn in 0u8..4,
        hops in any::<u8>(),
    ) {
        let mut packet = reference.parsed();
        let mut expected = Reference::read(&packet.to_wire());
        packet.set_sequence(SeqNum(numbers.0));
        expected.tcp.sequence_number = numbers.0;
        packet.set_acknowledgment(SeqNum(numbers.1));
        expected.tcp.acknowledgment_number = numbers.1;
        packet.set_window(window);
        expected.tcp.window_size = window;
        packet.set_flags(TcpFlags(flags));
        expected.set_flags(flags);
        packet.set_hop_limit(hops);
        packet.set_ecn([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ecn)]);
        match &mut expected.ip {
            IpHeaders::Ipv4(ip, _) => (ip.time_to_live, ip.ecn) = (hops, ecn.try_into().unwrap()),
            IpHeaders::Ipv6(ip, _) => {
                (ip.hop_limit, ip.traffic_class) = (hops, ip.traffic_class & !3 | ecn);
            }
        }
        packet.set_timestamps(Timestamps { value: timestamps.0, echo: timestamps.1 });

        let read = Reference::read(&packet.to_wire());
        read.assert_checksums_hold();
        assert_same_fields(&packet, &read);
        prop_assert_eq!(packet.tcp().unwrap().options.timestamps.is_some(), options_of(&expected.tcp).timestamps.is_some());
        if let Some(seen) = options_of(&read.tcp).timestamps {
            prop_assert_eq!((seen.value, seen.echo), timestamps);
        }
        // All else is as expected: compare with the options and the checksums taken over.
        expected.tcp.options = read.tcp.options.clone();
        expected.tcp.checksum = read.tcp.checksum;
        if let (IpHeaders::Ipv4(to, _), IpHeaders::Ipv4(from, _)) = (&mut expected.ip, &read.ip) {
            to.header_checksum = from.header_checksum;
        }
        prop_assert_eq!(&read.tcp, &expected.tcp);
        prop_assert_eq!(&read.ip, &expected.ip);
        prop_assert_eq!(&read.payload, &expected.payload);
    }

    #[test]
    fn a_new_traffic_class_is_all_that_changes(reference in reference(), class in any::<u8>()) {
        let mut packet = reference.parsed();
        let before = Reference::read(&packet.to_wire());
        packet.set_traffic_class(class);
        let read = Reference::read(&packet.to_wire());
        read.assert_checksums_hold();
        assert_same_fields(&packet, &read);
        prop_assert_eq!((packet.ip().traffic_class, packet.ip().dscp()), (class, class >> 2));
        prop_assert_eq!((&read.tcp, &read.payload), (&before.tcp, &before.payload));
    }

    #[test]
    fn what_we_build_is_read_by_etherparse_with_the_same_fields(
        reference in reference(),
        offset in any::<u32>(),
        len in 0u32..1500,
        is_virtual in any::<bool>(),
    ) {
        let (source, destination) = reference.addresses();
        let mut tcp = *reference.parsed().tcp().unwrap();
        // Linux's layout has no room for every combination; SACK is for segments without the options of a SYN.
        if tcp.options.mss.is_some() || tcp.options.window_scale.is_some() || tcp.options.sack_permitted {
            tcp.options.sack = SackBlocks::default();
        }
        let segment = Segment { source, destination, traffic_class: reference.class_and_hops().0, tcp };
        let packet = match is_virtual {
            true => Packet::tcp_virtual(&segment, 5, u64::from(offset), len),
            false => Packet::tcp_bytes(&segment, Bytes::from(reference.payload.clone())),
        };
        let read = Reference::read(&packet.to_wire());
        read.assert_checksums_hold();
        prop_assert_eq!(read.payload.len(), packet.payload_len() as usize);
        prop_assert_eq!(read.tcp.options.len(), tcp.options.len());
        let written = options_of(&read.tcp);
        let fitting = written.sack.as_slice().len();
        prop_assert_eq!(written.sack.as_slice(), &tcp.options.sack.as_slice()[..fitting]);
        prop_assert!(fitting == tcp.options.sack.as_slice().len() || tcp.options.timestamps.is_some() && fitting == 3);
        let without_sack = |options: TcpOptions| TcpOptions { sack: SackBlocks::default(), ..options };
        prop_assert_eq!(without_sack(written), without_sack(tcp.options));
        prop_assert_eq!(read.flags(), tcp.flags);
        prop_assert_eq!(read.class_and_hops(), (segment.traffic_class, 64));
        prop_assert_eq!(packet.wire_len() as usize, packet.to_wire().len());
    }

    #[test]
    fn one_wrong_bit_in_the_segment_is_noticed(reference in reference(), place in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut bytes = reference.to_bytes();
        let transport_at = reference.ip.header_len();
        let place = transport_at + place.index(bytes.len() - transport_at);
        bytes[place] ^= 1 << bit;
        let packet = Packet::parse(Bytes::from(bytes)).unwrap();
        let has_extension_headers = packet.ip().source.is_ipv6() && transport_at > 40;
        prop_assert!(packet.tcp().is_none() || !packet.checksum_holds() || has_extension_headers);
    }

    #[test]
    fn a_segment_without_its_ip_header_reads_back_if_it_is_whole_and_has_no_payload(
        reference in reference(),
        place in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let packet = reference.parsed();
        let mut bytes = Vec::new();
        packet.write_transport(&mut bytes);
        prop_assert_eq!(&bytes[..], &reference.to_bytes()[reference.ip.header_len()..]);
        let (source, destination) = reference.addresses();
        let read = Packet::parse_bare_segment(source, destination, &bytes);
        prop_assert_eq!(read.as_ref().and_then(Packet::tcp), packet.tcp().filter(|_| packet.payload_len() == 0));

        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        prop_assert!(Packet::parse_bare_segment(source, destination, &bytes).is_none());
    }

    #[test]
    fn a_cut_packet_is_no_packet_and_padding_is_not_part_of_it(reference in reference(), cut in any::<prop::sample::Index>()) {
        let bytes = reference.to_bytes();
        prop_assert!(Packet::parse(Bytes::copy_from_slice(&bytes[..cut.index(bytes.len())])).is_none());
        let padded = [&bytes[..], &[0xaa; 6]].concat();
        prop_assert_eq!(&Packet::parse(Bytes::from(padded)).unwrap().to_wire()[..], &bytes[..]);
    }

    #[test]
    fn fragments_are_opaque_and_pass_as_they_are(tcp in tcp_header(), is_v6 in any::<bool>(), offset in prop_oneof![Just(0), 1u16..8000], more in any::<bool>()) {
        let whole = match is_v6 { true => Reference::v6(tcp, &[7; 16]), false => Reference::v4(tcp, &[7; 16]) };
        let reference = whole.fragment(offset, more || offset == 0);
        let packet = reference.parsed();
        prop_assert!(packet.ip().is_fragment);
        prop_assert!(packet.tcp().is_none() && packet.flow().is_none());
        prop_assert_eq!(packet.ip().protocol, 6);
        prop_assert_eq!(&packet.to_wire()[..], &reference.to_bytes()[..]);
    }
}

#[test]
fn an_edit_of_a_shared_packet_leaves_the_other_copy_alone() {
    let original = Reference::v4(TcpHeader::new(1, 2, 3, 4), b"payload").parsed();
    let before = original.to_wire();
    let mut copy = original.clone();
    copy.set_window(99);
    assert_eq!(original.to_wire(), before);
    assert_eq!(Reference::read(&copy.to_wire()).tcp.window_size, 99);
}

#[test]
fn an_edit_of_a_wrong_checksum_does_not_make_it_right() {
    let mut bytes = Reference::v4(TcpHeader::new(1, 2, 3, 4), b"payload").to_bytes();
    *bytes.last_mut().unwrap() ^= 1;
    let mut packet = Packet::parse(Bytes::from(bytes)).unwrap();
    packet.set_acknowledgment(SeqNum(5));
    assert!(!packet.checksum_holds());
}

#[test]
fn a_checksum_that_somebody_vouches_for_is_believed_until_the_medium_marks_the_packet() {
    let mut bytes = Reference::v4(TcpHeader::new(1, 2, 3, 4), b"payload").to_bytes();
    *bytes.last_mut().unwrap() ^= 1;
    let mut packet = Packet::parse(Bytes::from(bytes)).unwrap();
    assert!(!packet.checksum_is_known_good());
    packet.set_checksum_known_good();
    assert!(packet.checksum_holds() && packet.clone().checksum_is_known_good());
    packet.mark_corrupted();
    assert!(!packet.checksum_holds());
}

#[test]
fn the_loss_notification_is_a_reserved_bit_and_changes_no_other() {
    for reference in
        [Reference::v4(TcpHeader::new(1, 2, 3, 4), b"payload"), Reference::v6(TcpHeader::new(1, 2, 3, 4), b"")]
    {
        let mut packet = reference.parsed();
        let (before, at) = (packet.to_wire(), reference.ip.header_len() + 12);
        packet.set_flags(packet.tcp().unwrap().flags.with(TcpFlags::ELN));
        let after = packet.to_wire();
        assert_eq!(after[at], before[at] | 0x02);
        // Data offset and flags beside it, and the checksum, are all that may differ.
        let kept = |bytes: &Bytes| [&bytes[..at], &bytes[at + 1..at + 4], &bytes[at + 6..]].concat();
        assert_eq!(kept(&after), kept(&before));
        let read = Packet::parse(after).unwrap();
        assert!(read.tcp().unwrap().flags.eln() && read.checksum_holds());
        packet.set_flags(packet.tcp().unwrap().flags.without(TcpFlags::ELN));
        assert_eq!(packet.to_wire(), before);
    }
}

#[test]
fn what_we_build_with_a_loss_notification_reads_back() {
    let parsed = Reference::v4(TcpHeader::new(1, 2, 3, 4), b"").parsed();
    let mut tcp = *parsed.tcp().unwrap();
    tcp.flags = TcpFlags::ACK.with(TcpFlags::ELN);
    let (source, destination) = (parsed.ip().source, parsed.ip().destination);
    let built = Packet::tcp_bytes(&Segment { source, destination, traffic_class: 0, tcp }, Bytes::new());
    let read = Packet::parse(built.to_wire()).unwrap();
    assert!(read.checksum_holds());
    assert_eq!(read.tcp().unwrap().flags, tcp.flags);
}
