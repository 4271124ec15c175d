/// What happens to the records at the other end of an association when a record is deleted.
///
/// The rule is declared at the end whose record is deleted. `HasMany(\Person.companyID, onDelete:
/// .destroy)` in `Company` applies to the people when their company is deleted.
/// `BelongsTo(\.companyID, to: Company.self, onDelete: .destroyLast)` in `Person` applies to the
/// company when a person is deleted.
public enum DeleteRule: UInt8, Sendable, CustomStringConvertible {
  /// The rule that loses nothing: `.nullify` if the reference is optional or in a list, and `.deny`
  /// if not; for the end that holds the reference, `.none`.
  case automatic = 0
  /// They stay as they are. References may then be dangling, and are not checked when records are
  /// saved.
  case none = 1
  /// The references to the record are removed: set to nil, or removed from the list.
  case nullify = 2
  /// They are deleted too, by the rules of their own associations.
  case destroy = 3
  /// They are deleted if this was the last record that they were associated with; the others only
  /// lose the reference.
  case destroyLast = 4
  /// The record cannot be deleted while it has related records that stay: `.deleteDenied`.
  case deny = 5

  /// The name of the rule.
  public var description: String {
    switch self {
    case .automatic: "automatic"
    case .none: "none"
    case .nullify: "nullify"
    case .destroy: "destroy"
    case .destroyLast: "destroyLast"
    case .deny: "deny"
    }
  }
}
