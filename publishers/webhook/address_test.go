package webhook

import (
	"net/netip"
	"testing"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string][2]bool{ // allowed by default, and where private ones are
		"93.184.216.34": {true, true}, "2606:2800:220:1::1": {true, true}, "64:ff9b::5db8:d822": {true, true}, "172.15.0.1": {true, true}, "172.32.0.1": {true, true},
		"10.1.2.3": {false, true}, "172.16.0.1": {false, true}, "172.31.255.255": {false, true}, "192.168.1.1": {false, true}, "127.0.0.1": {false, true},
		"127.255.255.254": {false, true}, "100.64.0.1": {false, true}, "100.127.0.1": {false, true}, "198.18.0.1": {false, true}, "192.0.2.1": {false, true},
		"::1": {false, true}, "fc00::1": {false, true}, "fd12:3456::1": {false, true}, "2001:db8::1": {false, true},
		"::ffff:127.0.0.1": {false, true}, "::ffff:10.0.0.1": {false, true}, "::ffff:93.184.216.34": {true, true},
		"64:ff9b::a00:1": {false, true}, "64:ff9b::a9fe:a9fe": {false, false}, "64:ff9b:1::7f00:1": {false, true},
		"2002:a00:1::": {false, true}, "2002:a9fe:a9fe::1": {false, false}, "2002:5db8:d822::1": {true, true},
		"2001:0:a00:1::": {false, false}, "2001:0:5db8:d822:0:0:f5ff:fffe": {false, true},
		"::127.0.0.1": {false, true}, "::10.0.0.1": {false, true},
		"169.254.169.254": {false, false}, "::ffff:169.254.169.254": {false, false}, "fe80::1": {false, false}, "fe80::1%eth0": {false, false}, "fec0::1": {false, false},
		"fd00:ec2::254": {false, false}, "168.63.129.16": {false, false}, "100.100.100.200": {false, false}, "192.0.0.192": {false, false},
		"0.0.0.0": {false, false}, "0.1.2.3": {false, false}, "::": {false, false}, "224.0.0.1": {false, false}, "239.1.1.1": {false, false},
		"255.255.255.255": {false, false}, "240.0.0.1": {false, false}, "ff02::1": {false, false}, "100::1": {false, false},
	} {
		for i, allowPrivate := range []bool{false, true} {
			if err := checkAddress(netip.MustParseAddr(addr), allowPrivate); (err == nil) != want[i] {
				t.Errorf("%s, private allowed %v: %v", addr, allowPrivate, err)
			}
		}
	}
}

func FuzzAddresses(f *testing.F) {
	f.Add("127.0.0.1")
	f.Add("::ffff:169.254.169.254")
	f.Fuzz(func(t *testing.T, text string) {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return
		}
		if checkAddress(addr, false) == nil {
			plain := addr.Unmap()
			if plain.IsLoopback() || plain.IsPrivate() || plain.IsLinkLocalUnicast() || plain.IsMulticast() || plain.IsUnspecified() {
				t.Errorf("%s is allowed", addr)
			}
			if checkAddress(addr, true) != nil {
				t.Errorf("%s is allowed, but not with private ones", addr)
			}
		}
	})
}
