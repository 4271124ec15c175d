import Foundation
import Larch

func needsKey<K: IndexKey>(_ value: K) {}

func decimalIsNoKey() {
  needsKey(Decimal(1))  // error: Decimal cannot be an index key; index an integer instead
}
