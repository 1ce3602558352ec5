package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// errAddress is wrapped by refusals to connect.
var errAddress = errors.New("the address is not one that webhooks may be sent to")

// never are networks that nobody may have requests sent to: what names no host,
// and where clouds tell machines their secrets.
var never = prefixes(
	"0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "224.0.0.0/4", "240.0.0.0/4", "100.100.100.200/32", "168.63.129.16/32",
	"::/128", "fe80::/10", "fec0::/10", "ff00::/8", "fd00:ec2::254/128", "100::/64",
)

// private are networks that lead into somebody's own house.
var private = prefixes(
	"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "192.0.2.0/24", "192.88.99.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"::1/128", "fc00::/7", "2001:db8::/32", "3fff::/20",
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// checkAddress refuses an address that is resolved already, so that a name which
// leads elsewhere at its second resolution gains nothing.
func checkAddress(addr netip.Addr, allowPrivate bool) error {
	addr = addr.Unmap().WithZone("")
	for _, embedded := range inside(addr) {
		if err := checkAddress(embedded, allowPrivate); err != nil {
			return err
		}
	}
	if within(addr, never) || !allowPrivate && within(addr, private) {
		return errAddress
	}
	return nil
}

func within(addr netip.Addr, networks []netip.Prefix) bool {
	for _, network := range networks {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
	compatible = netip.MustParsePrefix("::/96")
)

// inside returns the IPv4 addresses that an IPv6 address leads to by translation
// or tunnel.
func inside(addr netip.Addr) []netip.Addr {
	if !addr.Is6() {
		return nil
	}
	b := addr.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case nat64.Contains(addr), nat64Local.Contains(addr):
		return []netip.Addr{last}
	case sixToFour.Contains(addr):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case teredo.Contains(addr): // its server, and its client with all bits turned
		client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
		return []netip.Addr{netip.AddrFrom4([4]byte(b[4:8])), netip.AddrFrom4(client)}
	case compatible.Contains(addr) && b[12] != 0:
		return []netip.Addr{last}
	}
	return nil
}

// control is net.Dialer's last word before it connects.
func (t *Transport) control(_, address string, _ syscall.RawConn) error {
	endpoint, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: not an address", errAddress)
	}
	return checkAddress(endpoint.Addr(), t.allowPrivate)
}
