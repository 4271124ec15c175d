/// What `Store.verify()` found.
public struct VerificationReport: Sendable {
  /// One thing that is not as it must be.
  public struct Fault: Sendable, Hashable, CustomStringConvertible {
    /// What kind of thing it is.
    public enum Kind: String, Sendable {
      /// The structure of the file is damaged.
      case page
      /// A record does not match its checksum.
      case checksum
      /// A record cannot be read.
      case record
      /// A record has no entry in an index that must have one.
      case missingEntry
      /// An index has an entry that no record asks for.
      case danglingEntry
      /// Two records share a value of a unique index.
      case duplicate
      /// One direction of the lists of an association has a link that the other has not.
      case oneSidedLink
      /// The lists of an association name a record that is not there.
      case danglingLink
      /// A record refers to one that is not there, and by its declaration must be.
      case danglingReference
    }

    /// What kind of thing it is.
    public let kind: Kind
    /// The collection it was found in.
    public let collection: String?
    /// The index it was found in.
    public let index: String?
    /// The association it was found in, as `Store.verify()` and the catalog name it.
    public let association: String?
    /// The id of the record it is about.
    public let id: String?
    /// What else is known.
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

    /// All that is known, on one line.
    public var description: String {
      let parts = [
        collection.map { "collection \($0)" }, index.map { "index \($0)" },
        association.map { "association \($0)" }, id.map { "id \($0)" }, detail,
      ]
      return ([kind.rawValue] + parts.compactMap { $0 }).joined(separator: ", ")
    }
  }

  /// How many faults are kept; all are counted.
  static let faultLimit = 1000

  /// Records that were read.
  public internal(set) var recordCount = 0
  /// Index entries that were compared.
  public internal(set) var entryCount = 0
  /// Links in the lists of associations that were compared, each once for both directions.
  public internal(set) var linkCount = 0
  /// References that were looked up.
  public internal(set) var referenceCount = 0
  /// References to records that are not there, where the rule `.none` allows it: no faults.
  public internal(set) var looseReferenceCount = 0
  /// How many faults there are.
  public internal(set) var faultCount = 0
  /// The first thousand faults.
  public internal(set) var faults: [Fault] = []

  /// Whether everything is as it must be.
  public var isClean: Bool { faultCount == 0 }

  package mutating func add(_ fault: Fault) {
    faultCount += 1
    if faults.count < VerificationReport.faultLimit { faults.append(fault) }
  }
}

extension VerificationReport: CustomStringConvertible {
  /// The counts, and one line a fault.
  public var description: String {
    var counts = ["\(recordCount) records", "\(entryCount) index entries"]
    if referenceCount > 0 { counts.append("\(referenceCount) references") }
    if looseReferenceCount > 0 { counts.append("\(looseReferenceCount) of them loose") }
    if linkCount > 0 { counts.append("\(linkCount) links") }
    let head = (counts + ["\(faultCount) faults"]).joined(separator: ", ")
    return ([head] + faults.map { "  \($0)" }).joined(separator: "\n")
  }
}
