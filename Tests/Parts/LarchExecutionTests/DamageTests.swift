import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Damaged data is an error with a code, never a wrong row or a trap.
@Suite struct DamageTests {
  private func samples() throws -> SampleStore {
    var random = SeededGenerator(seed: 31)
    return try SampleStore(count: 40, &random)
  }

  private func change(
    _ samples: SampleStore, _ body: (CollectionHandle, LMDBTransaction) throws -> Void
  ) throws {
    try samples.store.write { tx throws in
      try body(tx.context.collection(of: Sample.self), try tx.context.transaction())
    }
  }

  private func key(_ id: Int64) -> [UInt8] {
    var writer = KeyWriter()
    writer.append(int64: id)
    return [UInt8](writer.bytes)
  }

  private func plan(
    _ source: Plan.Source, _ residue: [FilterNode] = [],
    _ order: Plan.RowOrder = .byID(descends: false), isCovering: Bool = false
  ) -> Plan {
    Plan(
      source: source, residue: residue, order: order, isCovering: isCovering, after: nil,
      offset: 0, limit: nil)
  }

  private func scan(_ index: Int) -> Plan.IndexScan {
    Plan.IndexScan(
      index: index, ranges: [.everything], bounds: [], keyFilter: [], mayRepeat: false,
      isPoints: false)
  }

  private func code(_ samples: SampleStore, _ plan: Plan) -> LarchError.Code? {
    do {
      _ = try samples.ids(plan)
      return nil
    } catch {
      return (error as? LarchError)?.code
    }
  }

  @Test func `A damaged record ends every plan that reads it`() throws {
    let samples = try samples()
    try change(samples) { collection, transaction in
      let id = key(7)
      let stored = try #require(
        try id.withUnsafeBytes { try collection.records.get($0, in: transaction) })
      var bytes = [UInt8](stored)
      bytes[bytes.count / 2] ^= 1
      try id.withUnsafeBytes { id in
        _ = try bytes.withUnsafeBytes { try collection.records.put(id, $0, in: transaction) }
      }
    }
    let no = FilterNode.field(FieldFilter(SampleField.age, .equal([.signed(1000)])))
    let term = OrderTerm(field: SampleField.name, descends: false)
    let sorted = Plan.RowOrder.sorted([term], idsDescend: false)
    let number = OrderTerm(field: SampleField.score, descends: false)
    let everything = Plan.Source.records([.everything])
    #expect(code(samples, plan(everything)) == .checksumMismatch)
    // Its age does not match, so it is skipped without reading the rest.
    #expect(code(samples, plan(everything, [no])) == nil)
    #expect(code(samples, plan(everything, [.not(no)])) == .checksumMismatch)
    #expect(code(samples, plan(everything, [], sorted)) == .checksumMismatch)
    #expect(
      code(samples, plan(everything, [], .sorted([number], idsDescend: true))) == .checksumMismatch)
    #expect(code(samples, plan(.index(scan(Sample.Place.age)))) == .checksumMismatch)
    #expect(
      code(samples, plan(.union([.index(scan(Sample.Place.age))]), [no])) == .checksumMismatch)
    // A plan that reads no record does not notice it.
    #expect(code(samples, plan(.index(scan(Sample.Place.age)), isCovering: true)) == nil)
    let count = try samples.run(plan(everything)) { run, _ in try run.count() }
    #expect(count == 40)
    do {
      _ = try samples.ids(plan(everything, [.not(no)]))
      Issue.record("the damaged record was given")
    } catch let error as LarchError {
      #expect(error.context.id == "7")
      #expect(error.context.collection == "Sample")
    }
  }

  @Test func `An entry without its record is an error`() throws {
    let samples = try samples()
    try change(samples) { collection, transaction in
      _ = try key(9).withUnsafeBytes { try collection.records.delete($0, in: transaction) }
    }
    #expect(code(samples, plan(.index(scan(Sample.Place.age)))) == .corrupted)
    #expect(
      code(
        samples,
        plan(
          .index(scan(Sample.Place.age)), [],
          .byIndex(
            components: 1, descends: true, idsDescend: false))) == .corrupted)
  }

  @Test func `A key that does not fit its index is an error when it is parsed`() throws {
    let samples = try samples()
    let bad: [[UInt8]] = [[7], [1, 1], [1, 1, 65, 0, 1], [1, 1, 65, 0, 0, 1, 2]]
    for bytes in bad {
      let samples = bytes == bad[0] ? samples : try self.samples()
      try change(samples) { collection, transaction in
        let index = try collection.index(at: Sample.Place.cityAge)
        try bytes.withUnsafeBytes { key in
          _ = try self.key(1).withUnsafeBytes { try index.database.put(key, $0, in: transaction) }
        }
      }
      var filtered = scan(Sample.Place.cityAge)
      filtered.keyFilter = [.field(FieldFilter(SampleField.age, .equal([.signed(3)])))]
      #expect(code(samples, plan(.index(filtered))) == .corrupted, "\(bytes)")
      #expect(
        code(
          samples,
          plan(
            .index(scan(Sample.Place.cityAge)), [],
            .byIndex(
              components: 2, descends: false, idsDescend: false))) == .corrupted, "\(bytes)")
    }
  }

  @Test func `A full disk ends a sort with an error, and the store continues`() throws {
    #if os(Linux)
      let samples = try samples()
      var settings = SortSettings()
      settings.budget = 256
      settings.makeSpillFile = { SpillFile(descriptor: open("/dev/full", O_RDWR | O_CLOEXEC)) }
      for field in [SampleField.name as FieldReference, SampleField.score] {
        let term = OrderTerm(field: field, descends: false)
        let plan = plan(
          .records([.everything]), [], .sorted([term], idsDescend: false))
        do {
          _ = try samples.ids(plan, settings: settings)
          Issue.record("a sort went through a full disk")
        } catch let error as LarchError {
          #expect(error.code == .diskFull)
        }
        #expect(try samples.ids(plan).count == 40)
      }
    #endif
  }

  @Test func `A temporary file that lost its end is an error`() throws {
    let samples = try samples()
    var settings = SortSettings()
    settings.budget = 256
    let path = ScratchFile.freshPath()
    defer { unlink(path) }
    settings.makeSpillFile = {
      SpillFile(descriptor: open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
    }
    let term = OrderTerm(field: SampleField.note, descends: false)
    let plan = plan(.records([.everything]), [], .sorted([term], idsDescend: false))
    try samples.run(plan, settings: settings) { run, _ in
      _ = try run.next()
      #expect(run.counters.spilledBytes > 0)
      #expect(truncate(path, 0) == 0)
      var thrown: LarchError.Code?
      do {
        while try run.next() != nil {}
      } catch let error as LarchError {
        thrown = error.code
      }
      // Rows that were already in memory may still be returned.
      #expect(thrown == .ioFailure || thrown == nil)
    }
  }

  @Test func `A run or a transaction that has ended returns no more rows`() throws {
    let samples = try samples()
    let plan = plan(.records([.everything]))
    let run = try samples.run(plan) { run, _ in
      _ = try run.next()
      return run
    }
    let row = try run.next()
    #expect(row == nil)
    #expect(throws: LarchError.self) { try run.record() }
  }
}
