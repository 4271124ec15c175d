/// A list of mostly one element, which then takes no memory of its own.
struct Few<Element>: RandomAccessCollection {
  private let head: Element?
  private let others: [Element]

  init(_ elements: [Element]) {
    head = elements.first
    others = elements.count > 1 ? Array(elements.dropFirst()) : []
  }

  var startIndex: Int { 0 }
  var endIndex: Int { head == nil ? 0 : 1 + others.count }

  subscript(place: Int) -> Element {
    if place == 0, let head { return head }
    return others[place - 1]
  }
}

extension Few: Sendable where Element: Sendable {}
