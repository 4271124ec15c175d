/// The rows of several sources, each once, as they come.
final class UnionRows: RowSource {
  private let run: Unmanaged<PlanRun>
  private let parts: [Plan.Source]
  private var place = 0
  private var rows: RowSource?
  @exclusivity(unchecked) private var given: IDSet
  private var examined = 0

  /// The run owns its rows, and so outlives them.
  init(_ parts: [Plan.Source], _ run: PlanRun) {
    self.parts = parts
    self.run = .passUnretained(run)
    given = IDSet(width: run.collection.stored.idKind.width)
  }

  override func next() throws -> Bool {
    while true {
      if let rows {
        while try rows.next() {
          guard given.insert(rows.id) else { continue }
          id = rows.id
          record = rows.record
          stored = rows.stored
          return true
        }
        examined += rows.entriesExamined
        self.rows = nil
        rows.close()
      }
      guard place < parts.count else { return false }
      place += 1
      rows = try run._withUnsafeGuaranteedRef { try $0.unorderedRows(parts[place - 1]) }
    }
  }

  override func close() {
    examined += rows?.entriesExamined ?? 0
    rows?.close()
    rows = nil
    place = parts.count
  }

  override func allow(entries: Int) { rows?.allow(entries: entries - examined) }

  override var entriesExamined: Int { examined + (rows?.entriesExamined ?? 0) }
}
