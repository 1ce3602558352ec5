package icebergrest

import (
	"net/http"

	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// getToken is POST /v1/oauth/tokens. Clients that were given a credential or a
// token to exchange come here by default, and Java, DuckDB and ClickHouse read
// the error form of OAuth (RFC 6749 5.2), not the catalog's: so they are told
// in words what to do about it. The request is not looked at; a secret in it
// is in no log (law 6).
func (a *API) getToken(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	wire.JSON(w, http.StatusBadRequest, []byte(`{"error":"unsupported_grant_type","error_description":`+
		`"This server issues no tokens, for its authentication is turned off: connect without credential and token, or name your identity provider in oauth2-server-uri"}`))
	return nil
}
