import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Counts how often a condition was evaluated on a decoded record.
private final class CountingAccess: TypedAccess {
  let access: RecordAccess<Sample>
  var asked = 0

  init(_ access: RecordAccess<Sample>) { self.access = access }

  override func matches(
    _ filters: [FilterNode], _ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> Bool {
    asked += 1
    return try access.matches(filters, record, id: id)
  }

  override func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]] {
    asked += 1
    return try access.values(of: field, in: record)
  }
}

@Suite struct StoredConditionTests {
  @Test func `Stored fields of standard types are compared without decoding`() throws {
    var random = SeededGenerator(seed: 11)
    let samples = try SampleStore(count: 60, &random)
    let standard = SampleField.single.filter { $0.storedPath != nil || $0.identity == .id }
    try samples.store.read { tx throws in
      let collection = try tx.context.collection(of: Sample.self)
      for _ in 0..<500 {
        let field = random.pick(standard)
        let access = CountingAccess(RecordAccess<Sample>(tx.context, collection))
        let filter = FilterNode.field(FieldFilter(field, random.test(of: field)))
        let descends = random.chance(2)
        let plan = Plan(
          source: .records([.everything]), residue: [filter],
          order: .sorted(
            [OrderTerm(field: field, descends: descends)], idsDescend: false),
          isCovering: false, after: nil, offset: 0, limit: nil)
        let run = try PlanRun(plan, in: collection, context: tx.context, typed: access)
        defer { run.close() }
        while try run.next() != nil {}
        #expect(access.asked == 0, "field \(field.name) \(filter)")
      }
    }
  }

  @Test func `A condition on bytes avoids decoding, wherever it is in the filter`() throws {
    var random = SeededGenerator(seed: 12)
    let samples = try SampleStore(count: 60, &random)
    let closure = FilterNode.record(RecordTest<Sample>(text: "closure") { _ in true })
    let active = FilterNode.field(FieldFilter(SampleField.active, .equal([.bool(true)])))
    let expected = samples.records.count(where: \.active)
    try samples.store.read { tx throws in
      let collection = try tx.context.collection(of: Sample.self)
      for residue in [[closure, active], [active, closure], [.all([closure, active])]] {
        let access = CountingAccess(RecordAccess<Sample>(tx.context, collection))
        let plan = Plan(
          source: .records([.everything]), residue: residue, order: .any, isCovering: true,
          after: nil, offset: 0, limit: nil)
        let run = try PlanRun(plan, in: collection, context: tx.context, typed: access)
        #expect(try run.count() == expected)
        #expect(access.asked == expected)
      }
    }
  }

  @Test(arguments: [21, 22, 23, 24] as [UInt64])
  func `Conditions on the bytes of a string agree with Swift`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20_000 {
      let text = random.word() + random.word() + (random.chance(2) ? random.word() : "")
      let kind = random.pick([TextTest.Kind.equal, .hasPrefix, .hasSuffix, .contains, .like])
      var wanted = random.chance(2) ? random.word() : String(text.prefix(random.below(4)))
      if kind == .like {
        wanted =
          random.pick(["%", "_", "", "%%", "\\%", "\\", "\\\\"]) + wanted
          + random.pick(["%", "_", "", "\\_", "\\"])
      }
      let test = TextTest(kind: kind, text: wanted, random.chance(2) ? .caseInsensitive : .exact)
      let compiled = CompiledTextTest(test)
      var utf8 = text
      let outcome = utf8.withUTF8 { compiled.test(UnsafeRawBufferPointer($0)) }
      #expect(
        outcome == (test.matches(text) ? .yes : .no),
        "seed \(seed): \(kind) \(text.debugDescription) \(wanted.debugDescription) \(test.textForm)"
      )
    }
  }

  @Test func `A closure that throws ends the query with its error`() throws {
    var random = SeededGenerator(seed: 13)
    let samples = try SampleStore(count: 3, &random)
    let error = LarchError(.invalidQuery, "A pattern is none.")
    let broken = FilterNode.record(
      RecordTest<Sample>(text: "pattern", error: error) { _ in true })
    let plan = Plan(
      source: .records([.everything]), residue: [.not(broken)], order: .any, isCovering: false,
      after: nil, offset: 0, limit: nil)
    let thrown = #expect(throws: LarchError.self) { try samples.ids(plan) }
    #expect(thrown?.code == .invalidQuery)
  }
}
