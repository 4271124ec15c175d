/// The result of `Store.verify()`.
public struct VerificationReport: Sendable {
  /// One fault.
  public struct Fault: Sendable, Hashable, CustomStringConvertible {
    /// The kind of fault.
    public enum Kind: String, Sendable {
      /// The structure of the file is damaged.
      case page
      /// A record does not match its checksum.
      case checksum
      /// A record cannot be read.
      case record
      /// A record has no entry in an index that must have one.
      case missingEntry
      /// An index has an entry that no record requires.
      case danglingEntry
      /// Two records share a value of a unique index.
      case duplicate
      /// One direction of the lists of an association has a link that the other one does not have.
      case oneSidedLink
      /// The lists of an association refer to a record that does not exist.
      case danglingLink
      /// A record has a dangling reference, which its declaration does not allow.
      case danglingReference
      /// What a mirrored store keeps until it is shipped is damaged.
      case outbox
    }

    /// The kind of fault.
    public let kind: Kind
    /// The collection of the fault.
    public let collection: String?
    /// The index of the fault.
    public let index: String?
    /// The association of the fault, as `Store.verify()` and the catalog name it.
    public let association: String?
    /// The id of the record.
    public let id: String?
    /// Further details.
    public let detail: String?

    package init(
      _ kind: Kind, collection: String? = nil, index: String? = nil, association: String? = nil,
      id: String? = nil, detail: String? = nil
    ) {
      self.kind = kind
      self.collection = collection
      self.index = index
      self.association = association
      self.id = id
      self.detail = detail
    }

    /// All details on one line.
    public var description: String {
      let parts = [
        collection.map { "collection \($0)" }, index.map { "index \($0)" },
        association.map { "association \($0)" }, id.map { "id \($0)" }, detail,
      ]
      return ([kind.rawValue] + parts.compactMap { $0 }).joined(separator: ", ")
    }
  }

  /// The number of faults that are kept; all are counted.
  static let faultLimit = 1000

  /// The number of records read.
  public internal(set) var recordCount = 0
  /// The number of index entries compared.
  public internal(set) var entryCount = 0
  /// The number of links in the lists of associations that were compared, each once for both
  /// directions.
  public internal(set) var linkCount = 0
  /// The number of references that were looked up.
  public internal(set) var referenceCount = 0
  /// The number of dangling references that the rule `.none` allows: they are not faults.
  public internal(set) var looseReferenceCount = 0
  /// The number of faults.
  public internal(set) var faultCount = 0
  /// The first thousand faults.
  public internal(set) var faults: [Fault] = []

  /// Whether there are no faults.
  public var isClean: Bool { faultCount == 0 }

  package mutating func add(_ fault: Fault) {
    faultCount += 1
    if faults.count < VerificationReport.faultLimit { faults.append(fault) }
  }
}

extension VerificationReport: CustomStringConvertible {
  /// The counts, and one line per fault.
  public var description: String {
    var counts = ["\(recordCount) records", "\(entryCount) index entries"]
    if referenceCount > 0 { counts.append("\(referenceCount) references") }
    if looseReferenceCount > 0 { counts.append("\(looseReferenceCount) of them loose") }
    if linkCount > 0 { counts.append("\(linkCount) links") }
    let head = (counts + ["\(faultCount) faults"]).joined(separator: ", ")
    return ([head] + faults.map { "  \($0)" }).joined(separator: "\n")
  }
}
