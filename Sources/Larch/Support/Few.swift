/// A list of mostly one element, which then takes no memory of its own.
enum Few<Element>: RandomAccessCollection {
  case one(Element)
  case others([Element])

  init(_ elements: [Element]) {
    self = elements.count == 1 ? .one(elements[0]) : .others(elements)
  }

  var startIndex: Int { 0 }

  var endIndex: Int {
    switch self {
    case .one: 1
    case .others(let elements): elements.count
    }
  }

  subscript(place: Int) -> Element {
    switch self {
    case .one(let element):
      precondition(place == 0, "There is one element.")
      return element
    case .others(let elements): return elements[place]
    }
  }
}

extension Few: Sendable where Element: Sendable {}
