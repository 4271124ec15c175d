import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// What a plan looks at, in steps from one key of an index to the next.
///
/// Entries and records are those that the run counted. Nothing counts how often a cursor searched
/// and how many rows were sorted, so both follow from the plan and from the number of rows.
enum RegretWork {
  /// The next record of a scan, and the test of its filter.
  static let scannedRecord = 3.0
  /// A record by its id, and the test of its filter.
  static let foundRecord = 11.0
  /// A search for the begin of a range.
  static let range = 10.0
  /// A key of a sample: of many keys, one of each page that is looked at.
  static let sampledKey = 3.0
  /// A key that a count of a range passes on its page.
  static let countedKey = 0.05
  /// Taken n log n times.
  static let sort = 0.3
  /// An id that is sorted, by its bytes.
  static let sortedID = 1.0
}

/// The plan of a query, and the best of all ways that there are.
struct Regret {
  let chosen: (work: Double, plan: Plan)
  let best: (work: Double, plan: Plan)
  let wayCount: Int

  /// A query costs this much before its first step and beside its rows, whatever its plan: less is
  /// no regret.
  static let base = 256.0

  var ratio: Double { (chosen.work + Regret.base) / (best.work + Regret.base) }

  func text(in schema: CollectionSchema) -> String {
    """
    \(chosen.plan.text(in: schema))
    looks at \(Int(chosen.work)), where \(Int(best.work)) would do:
    \(best.plan.text(in: schema))
    """
  }
}

extension ReadTransaction {
  /// The regret of a query; nil if there is one way only.
  func regret(_ asked: RegretCase) throws -> (regret: Regret, text: String)? {
    let collection = try context.collection(of: RegretItem.self)
    let statistics = CountedStatistics(IndexStatistics(collection, context))
    let planner = Planner(schema: collection.schema, usable: collection.answering)
    let chosen = try planner.plan(asked.query.details, for: asked.need, statistics: statistics)
    let sampling = statistics.work
    guard let task = try planner.task(asked.query.details, for: asked.need) else { return nil }
    let ways = try ways(task, statistics.statistics, collection)
    if ways.count < 2 { return nil }
    let runner = try RegretRunner(asked, self)
    let work = try runner.work(chosen, upTo: .infinity) + sampling
    var best = (work: work, plan: chosen)
    for way in ways {
      // What looks at more than another way is not the best, however much more.
      let other = try runner.work(way, upTo: best.work)
      if other < best.work { best = (other, way) }
    }
    let regret = Regret(chosen: (work, chosen), best: best, wayCount: ways.count)
    return (regret, regret.text(in: collection.schema))
  }

  private func ways(
    _ task: PlanTask, _ statistics: IndexStatistics, _ collection: CollectionHandle
  ) throws -> [Plan] {
    guard let fields = task.need.valueFields else {
      return try rowWays(task, statistics, collection)
    }
    var ways: [Plan] = []
    if let grouped = task.need.groupedFields { ways = task.groupScans(of: grouped).map(\.plan) }
    var rows = task
    rows.need = .fields(fields)
    ways += try rowWays(rows, statistics, collection)
    if !rows.order.isAny { return ways }
    // Records are read in the order of their ids too.
    rows.order = .byID(descends: false)
    return try ways + rowWays(rows, statistics, collection)
  }

  /// The ways that read rows.
  private func rowWays(
    _ task: PlanTask, _ statistics: IndexStatistics, _ collection: CollectionHandle
  ) throws -> [Plan] {
    let total = Double(try statistics.recordCount())
    let ids = task.boundsOfID()
    var scans: [Candidate] = []
    for match in task.matches(among: collection.answering) {
      if let scan = task.scan(match) { scans.append(scan) }
    }
    var ways = [task.records(ids?.ranges, used: ids?.used ?? 0)] + scans
    if let union = try task.union(total, statistics) { ways.append(union) }
    for (place, first) in scans.prefix(4).enumerated() {
      for second in scans.prefix(4).dropFirst(place + 1) {
        if let both = task.intersection([first, second], total) { ways.append(both) }
        // The part with fewer rows comes first; here both have none.
        if let both = task.intersection([second, first], total) { ways.append(both) }
      }
    }
    return ways.map { task.plan($0) }
  }
}

/// Counts what samples look at, which is a part of the cost of a choice.
private final class CountedStatistics: PlanStatistics {
  let statistics: IndexStatistics
  private(set) var work = 0.0

  init(_ statistics: IndexStatistics) { self.statistics = statistics }

  func recordCount() throws -> Int { try statistics.recordCount() }

  func estimate(index: Int, ranges: [KeyRange]) throws -> Int {
    try statistics.estimate(index: index, ranges: ranges)
  }

  func estimate(ids ranges: [KeyRange]) throws -> Int { try statistics.estimate(ids: ranges) }

  func estimate(_ lists: Plan.ListScan) throws -> Int { try statistics.estimate(lists) }

  func pagesOfKeys(index: Int) throws -> Int { try statistics.pagesOfKeys(index: index) }

  func sample(
    _ source: Plan.Source, _ conditions: [FilterNode], rows count: Int
  ) throws -> PlanSample? {
    let sample = try statistics.sample(source, conditions, rows: count)
    if let sample {
      work += RegretWork.sampledKey * Double(sample.keys)
      work += RegretWork.foundRecord * Double(sample.rows.count)
    }
    return sample
  }
}

/// Runs the ways of one query.
private final class RegretRunner {
  private let asked: RegretCase
  private let collection: CollectionHandle
  private let context: TransactionContext
  private let access: RecordAccess<RegretItem>
  private lazy var matching = Result { try countMatching() }
  private lazy var expected = Result { asked.answer?.expected(try readItems()) ?? [] }

  init(_ asked: RegretCase, _ tx: ReadTransaction) throws {
    self.asked = asked
    context = tx.context
    collection = try context.collection(of: RegretItem.self)
    access = RecordAccess<RegretItem>(context, collection)
  }

  private func run(_ plan: Plan) throws -> PlanRun {
    try PlanRun(
      plan, in: collection, context: context, typed: access, selecting: asked.selected)
  }

  /// The records of the query, each read and tested.
  private func readItems() throws -> [RegretItem] {
    let planner = Planner(schema: collection.schema, usable: 0)
    let run = try PlanRun(
      planner.fullScan(asked.query.details, for: .records), in: collection, context: context,
      typed: access)
    defer { run.close() }
    var items: [RegretItem] = []
    while let row = try run.next() { items.append(try access.decode(row, of: run)) }
    return items
  }

  /// Runs a request for groups: each way gives those of the array.
  private func answer(_ answer: RegretAnswer, _ run: PlanRun) throws {
    let rows = try answer.rows(run, access)
    let expected = try expected.get()
    if rows != expected {
      Issue.record(
        "\(asked.text)\n\(run.plan.text(in: collection.schema))\n\(rows)\nbut\n\(expected)")
    }
  }

  /// The records for which the filter is true.
  private func countMatching() throws -> Double {
    var query = asked.query.details
    query.limit = nil
    query.offset = 0
    query.after = nil
    let planner = Planner(schema: collection.schema, usable: collection.answering)
    let plan = try planner.plan(
      query, for: .count, statistics: IndexStatistics(collection, context))
    return Double(try run(plan).count())
  }

  /// The work of a plan; infinite if it is certainly more than `most`.
  func work(_ plan: Plan, upTo most: Double) throws -> Double {
    let run = try run(plan)
    defer { run.close() }
    if most < 1e9 {
      run.reader.mostEntries = Int(most) + 1
      run.reader.mostRecords = Int(most / RegretWork.scannedRecord) + 1
    }
    do {
      switch asked.need {
      case _ where asked.answer != nil:
        if let answer = asked.answer { try self.answer(answer, run) }
      case .count: _ = try run.count()
      case .exists: _ = try run.exists()
      default:
        while try run.next() != nil {
          if Double(run.counters.entriesExamined) > most { return .infinity }
        }
      }
    } catch is CostLimitReached {
      return .infinity
    }
    var counters = run.counters
    var work = 0.0
    for (other, records) in zip(plan.alternatives, run.recordsOfAlternatives)
    where records > 0 || run.other != nil {
      counters.recordsExamined -= records
      work += try self.work(
        of: other.source, other.order, residue: other.residue, entries: 0, records: records,
        rows: counters.rowsReturned, isLimited: false)
    }
    let isLimited = asked.query.details.limit == counters.rowsReturned
    // Each end of the ids of a key is a search.
    let ends = asked.query.details.limit == nil ? 2.0 : 1
    work += RegretWork.range * ends * Double(plan.idBounds.count)
    work += RegretWork.range * Double(counters.groupsSkipped)
    work += try self.work(
      of: plan.source, plan.order, residue: plan.residue, entries: counters.entriesExamined,
      records: counters.recordsExamined, rows: counters.rowsReturned, isLimited: isLimited)
    return work
  }

  private func work(
    of source: Plan.Source, _ order: Plan.RowOrder, residue: [FilterNode], entries: Int,
    records: Int, rows: Int, isLimited: Bool
  ) throws -> Double {
    // Groups in any order may still be read in the order of ids, which their plan says.
    let isOrdered =
      !asked.need.isAnyOrder || asked.answer != nil || asked.query.details.after != nil
    var isSorted = false
    if isOrdered, case .sorted = order { isSorted = true }
    let isCounted = residue.isEmpty && isCountedOnPages(source)
    var work = Double(entries) * (isCounted ? RegretWork.countedKey : 1)
    // Without more rows to find, each range was searched for.
    let ranges = source.rangeCount
    work += RegretWork.range * Double(isLimited ? min(ranges, max(1, entries)) : ranges)
    if case .records = source {
      let again = isSorted ? min(rows, records) : 0
      work += RegretWork.scannedRecord * Double(records - again)
      work += RegretWork.foundRecord * Double(again)
    } else {
      work += RegretWork.foundRecord * Double(records)
    }
    if isSorted {
      let count = try matching.get()
      let kept = Double(asked.query.details.limit ?? .max) + Double(asked.query.details.offset)
      work += RegretWork.sort * count * log2(min(count, kept) + 2)
    } else if isOrdered, order.sortsIDs(of: source) {
      work += RegretWork.sortedID * (try sortedIDs(source))
    }
    return work
  }

  /// Whether a count looks at the headers of pages: then its entries are keys.
  private func isCountedOnPages(_ source: Plan.Source) -> Bool {
    guard case .count = asked.need, asked.query.details.limit == nil,
      case .index(let scan) = source
    else { return false }
    return scan.keyFilter.isEmpty && !scan.isPoints && !scan.mayRepeat
  }

  /// The ids that are sorted before their records are read.
  private func sortedIDs(_ source: Plan.Source) throws -> Double {
    switch source {
    case .nothing, .records, .list, .search: return 0
    case .index(let scan):
      if scan.isPoints, scan.ranges.count <= 1 { return 0 }
      let plan = Plan(
        source: source, residue: [], order: .any, isCovering: true, offset: 0, limit: nil)
      return Double(try run(plan).count())
    case .union(let parts), .intersection(let parts):
      return try parts.reduce(0) { try $0 + sortedIDs($1) }
    }
  }
}

extension Plan.RowOrder {
  /// Whether the ids of the source are sorted; those of an intersection always are.
  fileprivate func sortsIDs(of source: Plan.Source) -> Bool {
    switch (self, source) {
    case (.byID, _), (.any, .intersection): true
    case (.any, _), (.byIndex, _), (.sorted, _): false
    }
  }
}

extension QueryNeed {
  /// The fields that are read of rows in any order, or of distinct ones.
  fileprivate var valueFields: [FieldReference]? {
    if case .values(let fields) = self { return fields }
    return groupedFields
  }
}

extension Plan.Source {
  /// The searches at least, to read all of it.
  fileprivate var rangeCount: Int {
    switch self {
    case .nothing: 0
    case .records(let ranges): ranges.count
    case .index(let scan): scan.ranges.count
    case .list(let scan): scan.ids.count
    case .search: 1
    case .union(let parts), .intersection(let parts): parts.reduce(0) { $0 + $1.rangeCount }
    }
  }
}
