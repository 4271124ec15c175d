/// What ``Store/verify()`` found.
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
    }

    /// What kind of thing it is.
    public let kind: Kind
    /// The collection it was found in.
    public let collection: String?
    /// The index it was found in.
    public let index: String?
    /// The id of the record it is about.
    public let id: String?
    /// What else is known.
    public let detail: String?

    init(
      _ kind: Kind, collection: String? = nil, index: String? = nil, id: String? = nil,
      detail: String? = nil
    ) {
      self.kind = kind
      self.collection = collection
      self.index = index
      self.id = id
      self.detail = detail
    }

    /// All that is known, on one line.
    public var description: String {
      let parts = [
        collection.map { "collection \($0)" }, index.map { "index \($0)" }, id.map { "id \($0)" },
        detail,
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
  /// How many faults there are.
  public internal(set) var faultCount = 0
  /// The first thousand faults.
  public internal(set) var faults: [Fault] = []

  /// Whether everything is as it must be.
  public var isClean: Bool { faultCount == 0 }

  mutating func add(_ fault: Fault) {
    faultCount += 1
    if faults.count < VerificationReport.faultLimit { faults.append(fault) }
  }
}

extension VerificationReport: CustomStringConvertible {
  /// The counts, and one line a fault.
  public var description: String {
    let head = "\(recordCount) records, \(entryCount) index entries, \(faultCount) faults"
    return ([head] + faults.map { "  \($0)" }).joined(separator: "\n")
  }
}
