import FuzzSupport
import Glibc

@testable import Larch

// The sum of the whole equals the sum of any two pieces.
exit(
  fuzz { bytes in
    guard let first = bytes.first else { return }
    var whole = Checksum()
    whole.add(bytes)
    let cut = Int(first) % bytes.count
    var pieces = Checksum()
    pieces.add(UnsafeRawBufferPointer(rebasing: bytes[..<cut]))
    pieces.add(UnsafeRawBufferPointer(rebasing: bytes[cut...]))
    precondition(whole.value == pieces.value, "pieces give another sum")
    #if PLANTED_BUG
      if bytes.starts(with: "LARCH".utf8) { fatalError("planted") }
    #endif
  })
