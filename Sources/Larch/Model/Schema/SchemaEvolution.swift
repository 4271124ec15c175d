/// What opening a store does when the declarations of the program differ from what is in the file.
public enum SchemaEvolution: Sendable {
  /// The file is brought to what is declared, where its records can be read as they are declared;
  /// else opening is refused. The default.
  case automatic
  /// Nothing in the file is changed: opening is refused, with a list of what would change, unless
  /// the file is as declared already. For a look before an upgrade.
  case check
  /// Fields are neither compared nor noted: a record that does not fit its type is an error when it
  /// is read. Collections and indexes appear as with ``automatic``. `init(from:)` of the types is
  /// not run on made-up values then.
  case off
}
