package app

import (
	"strings"
	"text/template"
)

// paste is what dev prints: how each engine reaches the catalog. All read and
// write local files, so they have to run on this machine.
var paste = template.Must(template.New("paste").Parse(`
  PyIceberg   from pyiceberg.catalog import load_catalog
              catalog = load_catalog("icecore", type="rest", uri="{{.URL}}/catalog", warehouse="demo")

  DuckDB      INSTALL iceberg; LOAD iceberg;
              ATTACH 'demo' AS demo (TYPE iceberg, ENDPOINT '{{.URL}}/catalog', AUTHORIZATION_TYPE 'none');

  Spark       --packages org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
              --conf spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
              --conf spark.sql.catalog.demo=org.apache.iceberg.spark.SparkCatalog
              --conf spark.sql.catalog.demo.type=rest
              --conf spark.sql.catalog.demo.uri={{.URL}}/catalog
              --conf spark.sql.catalog.demo.warehouse=demo

  Trino       etc/catalog/demo.properties:
              connector.name=iceberg
              iceberg.catalog.type=rest
              iceberg.rest-catalog.uri={{.URL}}/catalog
              iceberg.rest-catalog.warehouse=demo
              iceberg.rest-catalog.nested-namespace-enabled=true
              fs.native-local.enabled=true
              local.location=/

  History     icecore log list --data {{.Data}}      (or: log follow, log diff 1 9, verify)
`))

// pasteText fills it in.
func pasteText(url, data string) string {
	var b strings.Builder
	if err := paste.Execute(&b, struct{ URL, Data string }{url, data}); err != nil {
		panic(err) // the template and its data are constants of this file
	}
	return b.String()
}
