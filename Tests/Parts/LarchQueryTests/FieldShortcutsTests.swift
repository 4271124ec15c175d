import Testing

@testable import Larch

@Suite("Fields that are found without a lock")
struct FieldShortcutsTests {
  private final class Object {}

  @Test("Fields whose addresses have one place are all found, as long as there is room")
  func collisions() throws {
    let objects = (0..<20_000).map { _ in Object() }
    let groups = Dictionary(grouping: objects) { FieldShortcuts.place(nil, ObjectIdentifier($0)) }
    let rivals = try #require(groups.values.max { $0.count < $1.count })
    try #require(rivals.count > FieldShortcuts.attempts)
    let shortcuts = FieldShortcuts()
    func find(_ object: Object) -> AnyObject? {
      shortcuts.find(base: nil, member: ObjectIdentifier(object), isFlattened: false)
    }
    for (number, object) in rivals.enumerated() {
      #expect(find(object) == nil)
      shortcuts.keep(object, base: nil, member: ObjectIdentifier(object), isFlattened: false)
      #expect((find(object) === object) == (number < FieldShortcuts.attempts))
      #expect(
        shortcuts.find(base: nil, member: ObjectIdentifier(object), isFlattened: true) == nil)
    }
    for object in rivals.prefix(FieldShortcuts.attempts) { #expect(find(object) === object) }
    withExtendedLifetime(objects) {}
  }
}
