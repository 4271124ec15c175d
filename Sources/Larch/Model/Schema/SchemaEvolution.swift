/// What opening a store does if the declarations of the program differ from the file.
public enum SchemaEvolution: Sendable {
  /// The file is changed to match the declarations if its records can be read that way; if not,
  /// opening fails. This is the default.
  case automatic
  /// Nothing in the file is changed: unless the file already matches the declarations, opening
  /// fails with a list of the changes. Use it for a check before an upgrade.
  case check
  /// Fields are neither compared nor noted: a record that does not fit its type is an error when it
  /// is read. Collections and indexes are created as with ``automatic``. The `init(from:)` of the
  /// types is not run on sample values, unless a type is ``MemberwiseCoded``.
  case off
}
