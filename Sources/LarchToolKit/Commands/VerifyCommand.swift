internal import Larch
internal import LarchInspection

/// `larch verify`: checks a file.
struct VerifyCommand: Command {
  static let name = "verify"
  static let onlyShows = false
  static let summary =
    "checks pages, records, indexes, references and links; exits with 1 if there is damage"
  static let discussion = """
    This reads every page and every record, compares the checksum of each record and each index with
    the records, looks up the target of each reference, and compares both directions of links. Other
    programs may read and write meanwhile.

    Keys that only the program can make (computed properties, key types of its own, records of an
    older version that its code completes) cannot be compared, nor references that have such keys.
    The output names them. `store.verify()` in the program checks them too.
    """
  private static let pages = Flag(
    "--pages", "check only the structure of the pages, which needs no catalog")
  static let operands = [Operand.store]
  static let options: [any OptionDeclaration] = [pages, Flag.json]
  static let examples = [
    Example("larch verify people.larch", "Check a store"),
    Example("larch verify backup.larch --pages && echo sound", "Check the pages of a file"),
  ]

  private let path: String
  private let onlyPages: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    onlyPages = arguments[Self.pages]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let pages: PageReport
    do {
      pages = try FileCheck.verify(path: path)
    } catch let error as LarchError where error.code == .corrupted {
      // The store is not opened: LMDB would trust the damaged pages.
      return try tell(Proof(damage: error), console)
    }
    if onlyPages { return try tell(Proof(pages: pages), console) }
    let store = try StoreFile.open(path)
    defer { store.close() }
    let progress = Progress("proving", on: console)
    let found = try store.verifyWithoutTypes { progress.update(count: $0, "records") }
    progress.end()
    return try tell(Proof(pages: pages, found: found), console)
  }

  private func tell(_ proof: Proof, _ console: Console) throws -> ExitCode {
    if isJSON {
      try console.print(json: proof.json)
    } else {
      try proof.print(on: console)
    }
    return proof.isClean ? .well : .no
  }
}

/// The result of the check.
private struct Proof {
  var damage: LarchError?
  var pages: PageReport?
  var found: TypelessReport?

  var isClean: Bool { damage == nil && (found?.report.isClean ?? true) }

  private var faultCount: Int { (damage == nil ? 0 : 1) + (found?.report.faultCount ?? 0) }

  func print(on console: Console) throws {
    var table = Table([.init("", isNumber: true), .init("", .wrap)])
    func add(_ count: Int, _ what: String) { table.add(["\(Amount.count(count))", "\(what)"]) }
    if let pages {
      add(Int(clamping: pages.usedPages), "pages in use")
      add(Int(clamping: pages.freePages), "free pages")
    }
    if let report = found?.report {
      add(report.recordCount, "records")
      add(report.entryCount, "index entries")
      if report.referenceCount > 0 { add(report.referenceCount, "references") }
      if report.looseReferenceCount > 0 {
        add(report.looseReferenceCount, "of them loose, to records that do not exist")
      }
      if report.linkCount > 0 { add(report.linkCount, "links") }
    }
    try console.print(table)
    for unproved in found?.unproved ?? [] {
      try console.print(
        Line("not compared: ", .warning)
          + Line("\(subject(of: unproved)), \(reason(unproved))"), indent: 0)
    }
    if let damage { try console.print(Line("page: ", .bad) + Line("\(damage)"), indent: 0) }
    for fault in found?.report.faults ?? [] { try console.print("\(fault)") }
    let listed = found?.report.faults.count ?? 0
    if let report = found?.report, report.faultCount > listed {
      try console.print("… and \(Amount.count(report.faultCount - listed)) more")
    }
    try console.print(
      isClean
        ? Line("sound", .good)
        : Line("\(Amount.counted(faultCount, "fault"))", .bad) + Line(advice))
  }

  private func subject(of unproved: TypelessReport.Unproved) -> String {
    unproved.association.map { "reference \($0)" }
      ?? "index \(unproved.index ?? "") of \(unproved.collection)"
  }

  private func reason(_ unproved: TypelessReport.Unproved) -> String {
    guard unproved.isReady else { return "which is being built" }
    let what = unproved.association == nil ? "keys" : "ids"
    let whose =
      unproved.records.map { "the \(what) of \(Amount.counted($0, "record"))" } ?? "its \(what)"
    return "since only the program can make \(whose)"
  }

  /// The advice: derived data can be rebuilt, the rest comes from a backup.
  private var advice: String {
    let kinds = Set(found?.report.faults.map(\.kind) ?? [])
    let derived: Set<VerificationReport.Fault.Kind> = [
      .missingEntry, .danglingEntry, .oneSidedLink, .danglingLink,
    ]
    return damage == nil && kinds.isSubset(of: derived)
      ? "; `larch rebuild` builds indexes and links again"
      : "; restore a backup, or copy the readable records with `larch salvage`"
  }

  var json: JSON {
    var members: [String: JSON] = [
      "isClean": .bool(isClean), "faults": .int(faultCount),
      "found": .array(
        (found?.report.faults ?? []).map {
          [
            "kind": .string($0.kind.rawValue), "collection": .string(optional: $0.collection),
            "index": .string(optional: $0.index),
            "association": .string(optional: $0.association), "id": .string(optional: $0.id),
            "detail": .string(optional: $0.detail),
          ]
        }
          + (damage.map { [["kind": "page", "detail": .string($0.description)]] } ?? [])),
    ]
    if let pages {
      members["usedPages"] = .int(Int(clamping: pages.usedPages))
      members["freePages"] = .int(Int(clamping: pages.freePages))
    }
    if let found {
      members["records"] = .int(found.report.recordCount)
      members["entries"] = .int(found.report.entryCount)
      members["links"] = .int(found.report.linkCount)
      members["references"] = .int(found.report.referenceCount)
      members["looseReferences"] = .int(found.report.looseReferenceCount)
      members["notCompared"] = .array(
        found.unproved.map {
          [
            "collection": .string($0.collection), "index": .string(optional: $0.index),
            "association": .string(optional: $0.association),
            "isReady": .bool($0.isReady), "records": .int(optional: $0.records),
          ]
        })
    }
    return .object(members)
  }
}
