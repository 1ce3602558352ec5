package org.apache.iceberg.rest;

import org.apache.iceberg.catalog.Namespace;
import org.junit.jupiter.api.AfterEach;

/**
 * The kit's table tests with nested namespaces and slashes in names, which no flag of the published suite turns on.
 * Each is off unless its system property (extended.nested, extended.slash) is "true".
 */
public class ExtendedCatalogTests extends RESTCompatibilityKitCatalogTests {
  @Override
  protected boolean supportsNestedNamespaces() {
    return Boolean.getBoolean("extended.nested");
  }

  @Override
  protected boolean supportsNamesWithSlashes() {
    return Boolean.getBoolean("extended.slash");
  }

  /** The kit's own clean-up knows a fixed list of namespaces, without those of the nested tests. */
  @AfterEach
  void dropNestedNamespaces() {
    dropTree(Namespace.of("parent"));
  }

  private void dropTree(Namespace namespace) {
    if (catalog().namespaceExists(namespace)) {
      catalog().listNamespaces(namespace).forEach(this::dropTree);
      catalog().listTables(namespace).forEach(catalog()::dropTable);
      catalog().dropNamespace(namespace);
    }
  }
}
