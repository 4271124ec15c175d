import Testing

@testable import Larch

@Suite("What the plugin finds in this target")
struct PluginTests {
  @Test(
    "The compiler's codings are memberwise, with the same bytes",
    arguments: [
      PluginPart.self, PluginSpace.Whole.self, PluginBox<PluginPart>.self,
      PluginBox<PluginBox<PluginSpace.Whole>>.self,
    ] as [any PluginSample.Type])
  func memberwise(type: any PluginSample.Type) throws {
    func run<Sample: PluginSample>(_ type: Sample.Type) throws {
      #expect(type is any MemberwiseCoded.Type)
      #expect(MemberwisePlan.plan(for: type).reasonForFallback == nil)
      let shapes = ShapeTable()
      let coder = RecordCoder(shapes: shapes)
      let plain = RecordCoder(shapes: shapes)
      for _ in 0..<3 {
        let bytes = [UInt8](try coder.encode(Sample.sample))
        #expect(try plain.encodeThroughCodable(Sample.sample).elementsEqual(bytes))
        #expect(try bytes.withUnsafeBytes { try coder.decode(type, from: $0) } == Sample.sample)
      }
      let codec = coder.memberwise.codec(for: type)?.takeUnretainedValue()
      #expect(codec?.writtenShape ?? 0 != 0)
    }
    try run(type)
  }

  @Test(
    "Hand-written ones are not",
    arguments: [PluginWritten.self, PluginDefaulted.self, PluginRead.self]
      as [any PluginSample.Type])
  func handWritten(type: any PluginSample.Type) {
    #expect(!(type is any MemberwiseCoded.Type))
    #expect(MemberwiseCodec(type, shapes: ShapeTable()) == nil)
  }

  @Test("One that holds a hand-written one leaves that to its Codable")
  func holder() {
    let holder: Any.Type = PluginHolder.self
    #expect(holder is any MemberwiseCoded.Type)
    let plan = MemberwisePlan.plan(for: PluginHolder.self)
    #expect(!plan.writes)
    // None, if the hand-written one refuses the value that is made up for it.
    #expect(plan.properties.allSatisfy { $0.form.kind == nil })
  }
}
