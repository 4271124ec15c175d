/// What happens to the records at the other end of an association when a record is deleted.
///
/// The rule stands at the end whose record is deleted: `HasMany(\Person.companyID, onDelete:
/// .destroy)` in `Company` says what becomes of the people of a company that is deleted, and
/// `BelongsTo(\.companyID, to: Company.self, onDelete: .destroyLast)` in `Person` what becomes of
/// the company of a person that is.
public enum DeleteRule: UInt8, Sendable, CustomStringConvertible {
  /// Whatever loses nothing: `.nullify` where the reference is optional or in a list, else
  /// `.deny`; for the end that holds the reference, `.none`.
  case automatic = 0
  /// They stay as they are. References may point to nothing after it, and are not checked when
  /// records are saved.
  case none = 1
  /// The references to the record are removed: set to nil, or taken out of the list.
  case nullify = 2
  /// They are deleted too, by the rules of their own associations.
  case destroy = 3
  /// They are deleted when this was the last record that they were associated with; those that
  /// are associated with others too only lose the reference.
  case destroyLast = 4
  /// The record cannot be deleted while there are any that stay: `.deleteDenied`.
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
