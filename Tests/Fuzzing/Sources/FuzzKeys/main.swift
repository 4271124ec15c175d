import Foundation
import FuzzSupport

@testable import Larch

// Any bytes: the first chooses a form, the rest are a key, and a pair of strings.

private let forms: [KeyForm] = [
  "bool", "int8", "int16?", "int32", "int64", "uint8", "uint16", "uint32?", "uint64", "float?",
  "double", "date", "string", "string?", "data", "uuid", "url", "string,int64", "data?,string",
  "(string,data)?,double", "string,string,string,string,string",
].compactMap { KeyForm($0) }

private func check(_ isRight: Bool, _ sentence: String) { if !isRight { fatalError(sentence) } }

private func written(_ utf8: UnsafeRawBufferPointer, isLast: Bool) -> KeyPrefix {
  var writer = KeyWriter()
  writer.append(stringUTF8: utf8, isLast: isLast)
  return KeyPrefix(writer)
}

/// Called by libFuzzer with each input. Leak detection has to be off (`detect_leaks=0`): it does not
/// see the tagged pointers by which Swift holds indirect enum cases.
private func check(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let bytes = UnsafeRawBufferPointer(rebasing: input.dropFirst())
  let form = forms[Int(choice) % forms.count]
  if let key = try? KeyReader.read(bytes, as: form) {
    _ = key.description
    if hasPlantedBug { check(key.values.count < 5, "a key of five strings") }
    if !key.isCut {
      var writer = KeyWriter()
      check(writer.append(key.values, as: form), "values are not of the form they were read by")
      check(compareBytes(writer.bytes, bytes) == 0, "a key is not what its values are written as")
    }
  }
  let half = bytes.count / 2
  let first = UnsafeRawBufferPointer(rebasing: bytes[..<half])
  let second = UnsafeRawBufferPointer(rebasing: bytes[half...])
  guard let a = String(validating: first, as: UTF8.self),
    let b = String(validating: second, as: UTF8.self)
  else {
    _ = written(bytes, isLast: choice & 1 == 0)
    return
  }
  let order = compareNFC(a, b).signum()
  for isLast in [true, false] {
    let x = written(first, isLast: isLast)
    let y = written(second, isLast: isLast)
    let actual = x.bytes.withUnsafeBytes { x in
      y.bytes.withUnsafeBytes { y in compareBytes(x, y).signum() }
    }
    check(actual == order || (actual == 0 && x.isCut && y.isCut), "keys are not in order")
  }
  NFC.normalized(a).withUnsafeBytes { check(NFC.isNormalized($0), "a normal form is not normal") }
}

exit(fuzz { check($0) })
