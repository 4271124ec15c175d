import Foundation

@testable import Larch

extension Herd {
  struct Wide: HerdMember {
    var f0: Int
    var f1: String
    var f2: Double
    var f3: Bool
    var f4: Int
    var f5: String
    var f6: Double
    var f7: Bool
    var f8: Int
    var f9: String
    var f10: Double
    var f11: Bool
    var f12: Int
    var f13: String
    var f14: Double
    var f15: Bool
    var f16: Int
    var f17: String
    var f18: Double
    var f19: Bool
    var f20: Int
    var f21: String
    var f22: Double
    var f23: Bool
    var f24: Int
    var f25: String
    var f26: Double
    var f27: Bool
    var f28: Int
    var f29: String
    var f30: Double
    var f31: Bool
    var f32: Int
    var f33: String
    var f34: Double
    var f35: Bool
    var f36: Int
    var f37: String
    var f38: Double
    var f39: Bool
    static let values = [
      Wide(
        f0: 1, f1: "s", f2: 2.5, f3: true, f4: 1, f5: "s", f6: 2.5, f7: true, f8: 1, f9: "s",
        f10: 2.5, f11: true, f12: 1, f13: "s", f14: 2.5, f15: true, f16: 1, f17: "s", f18: 2.5,
        f19: true, f20: 1, f21: "s", f22: 2.5, f23: true, f24: 1, f25: "s", f26: 2.5, f27: true,
        f28: 1, f29: "s", f30: 2.5, f31: true, f32: 1, f33: "s", f34: 2.5, f35: true, f36: 1,
        f37: "s", f38: 2.5, f39: true)
    ]
  }

  struct Empty: HerdMember { static let values = [Empty()] }
  struct Payload: HerdMember {
    enum Choice: Codable { case none, some(Int) }
    var choice: Choice
    static let values = [Payload(choice: .none), Payload(choice: .some(1))]
  }
  struct IntKeys: HerdMember {
    var counts: [Int: Int]
    static let values = [IntKeys(counts: [2: 1, 1: 2])]
  }
  struct Sets: HerdMember {
    var items: Set<Int>
    static let values = [Sets(items: [1, 2])]
  }
  struct TwiceOptional: HerdMember {
    var value: Int??
    static let values = [TwiceOptional(value: 1), TwiceOptional(value: nil)]
  }
  struct OptionalElements: HerdMember {
    var values: [Int?]
    static let values = [OptionalElements(values: [1, nil])]
  }
  struct Excluding: HerdMember {
    var a: Int
    var b = 1
    enum CodingKeys: CodingKey { case a }
    static let values = [Excluding(a: 1), Excluding(a: 2, b: 3)]
  }
  struct Fixed: HerdMember {
    let version = 3
    var a: Int
    enum CodingKeys: CodingKey { case version, a }
    static let values = [Fixed(a: 1)]
  }
  final class Object: HerdMember {
    var a = 1
    static var values: [Object] { [Object()] }
  }
  struct WithObject: HerdMember {
    var part: Object
    static var values: [WithObject] { [WithObject(part: Object())] }
  }
  struct Tree: HerdMember {
    var a: Int
    var children: [Tree]
    static var values: [Tree] { [Tree(a: 1, children: [Tree(a: 2, children: [])])] }
  }
  struct Ranges: HerdMember {
    var range: Range<Int>
    static let values = [Ranges(range: 1..<2)]
  }
  struct Big: HerdMember {
    var number: Int128
    static let values = [Big(number: 1)]
  }
}
