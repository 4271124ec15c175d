import Testing

@testable import Larch

@Suite("LarchError")
struct LarchErrorTests {
  @Test("The description names the code, the message and only the context that is known")
  func description() {
    let error = LarchError(.uniqueConflict, "Another record has this value.") {
      $0.collection = "Person"
      $0.index = "email"
      $0.otherID = "7"
    }
    #expect(
      error.description
        == "unique_conflict: Another record has this value. (collection: Person, index: email, other id: 7)"
    )
  }
}
