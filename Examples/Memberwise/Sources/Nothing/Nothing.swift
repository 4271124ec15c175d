/// No struct here is Codable.
package struct Nothing {
  package init() {}
}
