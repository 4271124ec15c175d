import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("What Larch assumes beyond the promises of Swift")
struct RuntimeFeatureTests {
  /// If this fails, records are correct but slower: this version of Swift works differently.
  @Test("Its self-test passes on this toolchain", arguments: RuntimeFeature.allCases)
  func trusted(feature: RuntimeFeature) { #expect(feature.isTrusted) }

  @Test(
    "If a self-test fails, records, queries and scopes work the same",
    arguments: RuntimeFeature.allCases)
  func refused(feature: RuntimeFeature) async throws {
    let expected = try RuntimeSample.bytes()
    await #expect(processExitsWith: .success) {
      [name = feature.rawValue as String, expected = expected as [UInt8]] in
      let feature = try #require(RuntimeFeature(rawValue: name))
      RuntimeFeature.refused.withLock { _ = $0.insert(feature) }
      try #require(!feature.isTrusted)
      try requireSlowWay(feature)
      try #require(try RuntimeSample.bytes() == expected)
      try RuntimeSample.useStore()
      try await requireTaskIdentities()
    }
  }

  @Test("Without a setting all features are in use")
  func fastWays() async throws {
    #expect(
      FieldNaming.storedPath(of: \RuntimeThing.place?.city)
        == .stored(codingNames: ["place", "town"], propertyNames: ["place", "city"]))
    #expect(MemberwisePlan.plan(for: RuntimeThing.self).reasonForFallback == nil)
    #expect(usesStringMemory(RuntimeThing.self) == true)
    #expect(containersAreReturned())
    try RuntimeSample.useStore()
    try await requireTaskIdentities()
  }

  @Test("The runtime and Swift name the same task, inside and outside of tasks")
  func tasks() async {
    await withTaskGroup { group in
      for _ in 0..<50 { group.addTask { CurrentTask.agrees() } }
      for await agrees in group { #expect(agrees) }
    }
    let outside = await withCheckedContinuation { waiting in
      Thread { waiting.resume(returning: CurrentTask.agrees() && CurrentTask.identity == nil) }
        .start()
    }
    #expect(outside)
  }

  @Test("The parts of a row are at their offsets")
  func offsets() {
    typealias Row = (RuntimeThing, RuntimeThing?, [RuntimeThing])
    let form = RelatedRowForm<RuntimeThing, Row>([], RuntimeThing?.self, [RuntimeThing].self)
    #expect(
      form.offsets?.map(Optional.some)
        == [0, MemoryLayout<Row>.offset(of: \.1), MemoryLayout<Row>.offset(of: \.2)])
  }
}

/// The effect of the feature, which shows whether it is used.
private func requireSlowWay(_ feature: RuntimeFeature) throws {
  let reason = MemberwisePlan.plan(for: RuntimeThing.self).reasonForFallback
  switch feature {
  case .reflection:
    try #require(reason?.contains("describes types in a way") == true)
    try #require(
      FieldNaming.storedPath(of: \RuntimeThing.number) == .computed(printableName: nil))
    try #require(TypeProbe.keys(of: RuntimeThing.self) == nil)
  case .keyPathDescription:
    try #require(
      FieldNaming.storedPath(of: \RuntimeThing.place?.city) == .computed(printableName: nil))
    // The offset of a property is enough.
    try #require(
      FieldNaming.storedPath(of: \RuntimeThing.place)
        == .stored(codingNames: ["place"], propertyNames: ["place"]))
  case .smallString:
    try #require(reason == nil)
    try #require(usesStringMemory(RuntimeThing.self) == false)
  case .returnedContainer: try #require(!containersAreReturned())
  case .currentTask: try #require(CurrentTask.identity == CurrentTask.promised)
  case .plainMemory: try #require(reason?.contains("not MemberwiseCoded itself") == true)
  case .tupleMemory: try #require(TupleLayout.offsets(of: [Int.self], in: Int.self) == nil)
  }
}

/// Whether memberwise coding uses the memory of strings; nil if it does not code the type.
private func usesStringMemory(_ type: any MemberwiseCoded.Type) -> Bool? {
  let plan = MemberwisePlan.plan(for: type)
  let fields = plan.properties.compactMap { property in
    property.form.kind.map { ShapeField(name: property.codingName, kind: $0) }
  }
  guard
    let program = MemberwiseProgram(
      plan: plan, shape: Shape(id: 1, typeName: "", fields: fields))
  else { return nil }
  return (0..<program.stepCount).contains { program.steps[$0].operation == .directString }
}

/// Whether a coder returns containers that were created before.
private func containersAreReturned() -> Bool {
  let coder = RecordCoder(shapes: ShapeTable())
  let containers = coder.state.pointee.containers.takeUnretainedValue()
  return containers.reference(
    UnusedKey.self, depth: 0, { KeyedEncodingContainer(RefusingEncoder<UnusedKey>()) }) != nil
}

/// The container for it is kept with the frames of the coder, which others use again.
private enum UnusedKey: CodingKey { case only }

/// The identity of a task is constant while it runs, and differs from that of all other tasks.
private func requireTaskIdentities() async throws {
  let outer = CurrentTask.identity
  try #require(outer != nil)
  let inner = await Task.detached { [CurrentTask.identity, CurrentTask.identity].map(\.debug) }
    .value
  try #require(inner[0] == inner[1])
  try #require(inner[0] != outer.debug)
  try #require(CurrentTask.identity == outer)
}

extension UnsafeRawPointer? {
  /// As a number, which may go from task to task.
  fileprivate var debug: UInt { UInt(bitPattern: self) }
}
