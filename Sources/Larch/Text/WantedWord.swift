/// A word of a query: what words of texts stand for it.
struct WantedWord: Hashable, Sendable {
  enum Ending: Hashable, Sendable {
    /// None but the word itself.
    case none
    /// Each longer word too.
    case any
    /// The forms of one word.
    case form(Form)
  }

  struct Form: Hashable, Sendable {
    let stemming: Stemming
    /// Folded, as it is in the query.
    let word: [UInt8]
    let stem: [UInt8]
    /// Whether the word is still being typed: then each longer word counts too.
    let isBeginning: Bool
  }

  /// Folded. All words that stand for it begin with these bytes.
  let beginning: [UInt8]
  let ending: Ending

  /// The word without bytes of an index of words: its postings are the lengths of records.
  static let lengths = WantedWord([], isBeginning: false)

  init(_ bytes: [UInt8], isBeginning: Bool) {
    beginning = bytes
    ending = isBeginning ? .any : .none
  }

  /// The forms of a word.
  init(formsOf bytes: [UInt8], _ stemming: Stemming, isBeginning: Bool) {
    let stem = bytes.withUnsafeBytes { stemming.stem(of: $0) }
    beginning = WantedWord.common(bytes, stemming.beginning(ofWordsWith: stem))
    ending = .form(
      Form(stemming: stemming, word: bytes, stem: stem, isBeginning: isBeginning))
  }

  /// Whether no other word stands for it: then records come in the order of their numbers.
  @inline(__always)
  var isExact: Bool {
    if case .none = ending { return true }
    return false
  }

  /// Whether the forms of one word stand for it.
  var hasForms: Bool {
    if case .form = ending { return true }
    return false
  }

  @inline(__always)
  func matches(_ word: UnsafeRawBufferPointer) -> Bool {
    let length = beginning.count
    guard word.count == length || (word.count > length && !isExact) else { return false }
    let isBegun = beginning.withUnsafeBytes {
      UnsafeRawBufferPointer(rebasing: word[..<length]).equals($0)
    }
    guard isBegun, case .form(let form) = ending else { return isBegun }
    return form.matches(word)
  }

  /// The bytes with which the keys of all such words begin in an index of words.
  var keyPrefix: [UInt8] { isExact ? beginning + [0] : beginning }

  private static func common(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
    [UInt8](zip(a, b).prefix { $0 == $1 }.map(\.0))
  }
}

extension WantedWord.Form {
  @inline(never)
  fileprivate func matches(_ other: UnsafeRawBufferPointer) -> Bool {
    if isBeginning, other.count >= word.count,
      word.withUnsafeBytes({ UnsafeRawBufferPointer(rebasing: other[..<word.count]).equals($0) })
    {
      return true
    }
    return stemming.withStem(of: other) { found in stem.withUnsafeBytes { found.equals($0) } }
  }
}

extension WantedWord: CustomStringConvertible {
  var description: String {
    switch ending {
    case .none: return String(decoding: beginning, as: UTF8.self)
    case .any: return String(decoding: beginning, as: UTF8.self) + "*"
    case .form(let form):
      let word = String(decoding: form.word, as: UTF8.self)
      return form.isBeginning ? "(forms(\(word)) || \(word)*)" : "forms(\(word))"
    }
  }
}
