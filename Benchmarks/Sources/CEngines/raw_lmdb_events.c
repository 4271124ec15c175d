// Events on raw LMDB: the sub-databases that Larch uses, through LMDB's C API and nothing on top.
//
//   events      the 16 bytes of the UUID -> packed record
//   three indexes, DUPSORT | DUPFIXED, encoded fields -> UUID: kind and date, date, device

#include "raw_lmdb.h"
#include "row_hash.h"
#include "shapes.h"

enum { KIND_AT, AT, DEVICE, EVENT_INDEXES };
enum { EVENT_FIXED = 20, NO_NOTE = 0xFFFF };

static const char *const event_index_names[EVENT_INDEXES] = {"kind_at", "at", "device"};

struct bench_events {
  MDB_env *environment;
  MDB_dbi events;
  MDB_dbi indexes[EVENT_INDEXES];
  MDB_txn *parked;
};

// MARK: Records and keys

static inline size_t event_size(const bench_event *event) {
  return EVENT_FIXED + (size_t)event->kind_length + event->device_length
    + (event->note == NULL ? 0 : event->note_length);
}

static inline void pack_event(unsigned char *target, const bench_event *event) {
  uint16_t note = event->note == NULL ? NO_NOTE : (uint16_t)event->note_length;
  memcpy(target, &event->at, 8);
  memcpy(target + 8, &event->amount, 8);
  target[16] = (unsigned char)event->kind_length;
  target[17] = (unsigned char)event->device_length;
  memcpy(target + 18, &note, 2);
  target += EVENT_FIXED;
  memcpy(target, event->kind, event->kind_length);
  target += event->kind_length;
  memcpy(target, event->device, event->device_length);
  if (note != NO_NOTE) memcpy(target + event->device_length, event->note, note);
}

// A view: its strings point into the bytes.
static inline void view_event(bench_event *event, const void *id, const void *bytes) {
  const unsigned char *source = bytes;
  uint16_t note;
  memcpy(event->id, id, 16);
  memcpy(&event->at, source, 8);
  memcpy(&event->amount, source + 8, 8);
  event->kind_length = source[16];
  event->device_length = source[17];
  memcpy(&note, source + 18, 2);
  event->kind = (const char *)source + EVENT_FIXED;
  event->device = event->kind + event->kind_length;
  event->note = note == NO_NOTE ? NULL : event->device + event->device_length;
  event->note_length = note == NO_NOTE ? 0 : note;
}

// Materialises the event, as a caller would keep it, adds it and drops it.
static inline void add_event(
  bench_result *result, const void *id, const MDB_val *value, bool all_bytes) {
  bench_event event;
  view_event(&event, id, value->mv_data);
  char *kind = person_copy_string(event.kind, event.kind_length);
  char *device = person_copy_string(event.device, event.device_length);
  char *note = event.note == NULL ? NULL : person_copy_string(event.note, event.note_length);
  __asm__ volatile("" : : "r"(kind), "r"(device), "r"(note) : "memory");
  uint64_t hash = row_add_double(row_add_uuid(ROW_HASH_START, event.id), event.at);
  hash = row_add_text(hash, kind, event.kind_length, all_bytes);
  hash = row_add_text(hash, device, event.device_length, all_bytes);
  hash = row_add(hash, (uint64_t)event.amount);
  hash = note == NULL ? row_add(hash, ROW_HASH_NIL)
                      : row_add_text(hash, note, event.note_length, all_bytes);
  result_add(result, hash);
  free(kind);
  free(device);
  free(note);
}

static void make_event_key(int index, index_key *key, const bench_event *event) {
  switch (index) {
    case KIND_AT:
      make_city_age_key(key, event->kind, event->kind_length, 0);
      store_key_double(key->bytes + key->length - 8, event->at);
      break;
    case AT: make_created_at_key(key, event->at); break;
    default: make_email_key(key, event->device, event->device_length); break;
  }
}

static void make_span_key(index_key *key, const bench_span *span, double at) {
  bench_event event = {.at = at, .kind = span->kind.bytes, .kind_length = span->kind.length};
  make_event_key(span->kind.length > 0 ? KIND_AT : AT, key, &event);
}

// MARK: Opening

int bench_events_open(const char *path, bench_events **out) {
  int code;
  MDB_txn *txn = NULL;
  bench_events *store = calloc(1, sizeof *store);
  if (store == NULL) abort();
  CHECK(lmdb_open_environment(path, &store->environment));
  CHECK(mdb_txn_begin(store->environment, NULL, 0, &txn));
  CHECK(mdb_dbi_open(txn, "events", MDB_CREATE, &store->events));
  for (int index = 0; index < EVENT_INDEXES; index++) {
    CHECK(mdb_dbi_open(
      txn, event_index_names[index], MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED,
      &store->indexes[index]));
  }
  code = mdb_txn_commit(txn);
  txn = NULL;
  if (code != 0) goto failed;
  *out = store;
  return 0;
failed:
  if (txn != NULL) mdb_txn_abort(txn);
  bench_events_close(store);
  return code;
}

void bench_events_close(bench_events *store) {
  if (store->parked != NULL) mdb_txn_abort(store->parked);
  if (store->environment != NULL) mdb_env_close(store->environment);
  free(store);
}

// MARK: Writing

static int put_entry(MDB_txn *txn, MDB_dbi index, index_key *built, const void *id) {
  MDB_val key = {built->length, built->bytes};
  MDB_val value = {16, (void *)id};
  return mdb_put(txn, index, &key, &value, 0);
}

static int delete_entry(MDB_txn *txn, MDB_dbi index, index_key *built, const void *id) {
  MDB_val key = {built->length, built->bytes};
  MDB_val value = {16, (void *)id};
  return mdb_del(txn, index, &key, &value);
}

static int put_event(bench_events *store, MDB_txn *txn, const bench_event *event, unsigned flags) {
  MDB_val id = {16, (void *)event->id};
  MDB_val value = {event_size(event), NULL};
  int code = mdb_put(txn, store->events, &id, &value, MDB_RESERVE | flags);
  if (code == 0) pack_event(value.mv_data, event);
  return code;
}

int bench_events_insert(
  bench_events *store, const bench_event *events, size_t count, bench_result *result) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t at = 0; at < count; at++) {
    CHECK(put_event(store, txn, &events[at], MDB_NOOVERWRITE));
    for (int index = 0; index < EVENT_INDEXES; index++) {
      index_key key;
      make_event_key(index, &key, &events[at]);
      CHECK(put_entry(txn, store->indexes[index], &key, events[at].id));
    }
  }
  result->rows += count;
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

// The stored event, copied: a later change may move its page.
static int get_event(
  bench_events *store, MDB_txn *txn, const void *id, unsigned char *copy, bench_event *event) {
  MDB_val key = {16, (void *)id}, value;
  int code = mdb_get(txn, store->events, &key, &value);
  if (code != 0) return code;
  memcpy(copy, value.mv_data, value.mv_size);
  view_event(event, id, copy);
  return 0;
}

int bench_events_update(
  bench_events *store, const bench_event *changes, size_t count, bench_result *result) {
  MDB_txn *txn;
  unsigned char copy[1024];
  bench_event event;
  int code = mdb_txn_begin(store->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t at = 0; at < count; at++) {
    index_key old, new;
    CHECK(get_event(store, txn, changes[at].id, copy, &event));
    make_event_key(KIND_AT, &old, &event);
    event.kind = changes[at].kind;
    event.kind_length = changes[at].kind_length;
    make_event_key(KIND_AT, &new, &event);
    CHECK(delete_entry(txn, store->indexes[KIND_AT], &old, event.id));
    CHECK(put_entry(txn, store->indexes[KIND_AT], &new, event.id));
    CHECK(put_event(store, txn, &event, 0));
  }
  result->rows += count;
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

int bench_events_delete(
  bench_events *store, const bench_event *asked, size_t count, bench_result *result) {
  MDB_txn *txn;
  unsigned char copy[1024];
  bench_event event;
  int code = mdb_txn_begin(store->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t at = 0; at < count; at++) {
    CHECK(get_event(store, txn, asked[at].id, copy, &event));
    for (int index = 0; index < EVENT_INDEXES; index++) {
      index_key key;
      make_event_key(index, &key, &event);
      CHECK(delete_entry(txn, store->indexes[index], &key, event.id));
    }
    MDB_val id = {16, event.id};
    CHECK(mdb_del(txn, store->events, &id, NULL));
  }
  result->rows += count;
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

// MARK: Reading

typedef struct {
  MDB_txn *txn;
  MDB_cursor *cursor;
} event_read;

static int start_events(bench_events *store, MDB_dbi database, event_read *read) {
  read->cursor = NULL;
  int code = renew_read(store->environment, &store->parked, &read->txn);
  return code != 0 ? code : mdb_cursor_open(read->txn, database, &read->cursor);
}

static int end_events(event_read *read, int code) {
  if (read->cursor != NULL) mdb_cursor_close(read->cursor);
  if (read->txn != NULL) mdb_txn_reset(read->txn);
  return code == MDB_NOTFOUND ? 0 : code;
}

static inline int fetch_event(
  bench_events *store, event_read *read, const void *id, bench_result *result) {
  MDB_val key = {16, (void *)id}, value;
  int code = mdb_get(read->txn, store->events, &key, &value);
  if (code == 0) add_event(result, id, &value, false);
  return code == MDB_NOTFOUND ? MDB_CORRUPTED : code;
}

int bench_events_find(
  bench_events *store, const bench_event *asked, size_t count, bench_result *result) {
  event_read read;
  int code = start_events(store, store->events, &read);
  for (size_t at = 0; code == 0 && at < count; at++) {
    code = fetch_event(store, &read, asked[at].id, result);
  }
  return end_events(&read, code);
}

// Backwards from the entry before the end of the span, while keys have its kind.
static int page_of(
  bench_events *store, event_read *read, const bench_span *span, size_t limit,
  bench_result *result) {
  index_key end;
  make_span_key(&end, span, span->to);
  size_t prefix = end.length - 8;
  MDB_val key = {end.length, end.bytes}, id;
  int code = mdb_cursor_get(read->cursor, &key, &id, MDB_SET_RANGE);
  code = mdb_cursor_get(read->cursor, &key, &id, code == 0 ? MDB_PREV : MDB_LAST);
  for (; code == 0 && limit > 0; limit--) {
    if (key.mv_size != end.length || memcmp(key.mv_data, end.bytes, prefix) != 0) return 0;
    code = fetch_event(store, read, id.mv_data, result);
    if (code == 0) code = mdb_cursor_get(read->cursor, &key, &id, MDB_PREV);
  }
  return code == MDB_NOTFOUND ? 0 : code;
}

int bench_events_page(
  bench_events *store, const bench_span *spans, size_t count, size_t limit, bench_result *result) {
  event_read read;
  int index = count > 0 && spans[0].kind.length > 0 ? KIND_AT : AT;
  int code = start_events(store, store->indexes[index], &read);
  for (size_t at = 0; code == 0 && at < count; at++) {
    code = page_of(store, &read, &spans[at], limit, result);
  }
  return end_events(&read, code);
}

// Calls with every entry of the span; the cursor is on its index.
typedef int (*entry_use)(bench_events *, event_read *, const void *id, void *context);

static int each_entry(
  bench_events *store, event_read *read, const bench_span *span, entry_use use, void *context) {
  index_key from, to;
  make_span_key(&from, span, span->from);
  make_span_key(&to, span, span->to);
  MDB_val key = {from.length, from.bytes}, id;
  int code = mdb_cursor_get(read->cursor, &key, &id, MDB_SET_RANGE);
  // Keys of a span have one length; a longer kind is past its end.
  while (code == 0 && memcmp(key.mv_data, to.bytes, key.mv_size < to.length ? key.mv_size : to.length) < 0) {
    code = use(store, read, id.mv_data, context);
    if (code == 0) code = mdb_cursor_get(read->cursor, &key, &id, MDB_NEXT);
  }
  return code == MDB_NOTFOUND ? 0 : code;
}

static int use_record(bench_events *store, event_read *read, const void *id, void *context) {
  return fetch_event(store, read, id, context);
}

static int use_count(bench_events *store, event_read *read, const void *id, void *context) {
  (void)store, (void)read, (void)id;
  *(int64_t *)context += 1;
  return 0;
}

static int use_amount(bench_events *store, event_read *read, const void *id, void *context) {
  MDB_val key = {16, (void *)id}, value;
  int64_t amount;
  int code = mdb_get(read->txn, store->events, &key, &value);
  if (code != 0) return code;
  memcpy(&amount, (const char *)value.mv_data + 8, 8);
  *(int64_t *)context += amount;
  return 0;
}

int bench_events_range(
  bench_events *store, const bench_span *spans, size_t count, bench_result *result) {
  event_read read;
  int code = start_events(store, store->indexes[AT], &read);
  for (size_t at = 0; code == 0 && at < count; at++) {
    bench_span span = {.kind = {NULL, 0}, .from = spans[at].from, .to = spans[at].to};
    code = each_entry(store, &read, &span, use_record, result);
  }
  return end_events(&read, code);
}

static int number_of_each(
  bench_events *store, const bench_span *spans, size_t count, entry_use use,
  bench_result *result) {
  event_read read;
  int code = start_events(store, store->indexes[KIND_AT], &read);
  for (size_t at = 0; code == 0 && at < count; at++) {
    int64_t number = 0;
    code = each_entry(store, &read, &spans[at], use, &number);
    result_add(result, row_add(ROW_HASH_START, (uint64_t)number));
  }
  return end_events(&read, code);
}

int bench_events_count(
  bench_events *store, const bench_span *spans, size_t count, bench_result *result) {
  return number_of_each(store, spans, count, use_count, result);
}

int bench_events_sum(
  bench_events *store, const bench_span *spans, size_t count, bench_result *result) {
  return number_of_each(store, spans, count, use_amount, result);
}

static void add_group(
  bench_result *result, const unsigned char *text, size_t length, bool counted, uint64_t count) {
  uint64_t hash = row_add_text(ROW_HASH_START, text, (uint32_t)length, true);
  result_add(result, counted ? row_add(hash, count) : hash);
}

// Keys are 01, the kind, 00 00 and the date. Counting takes a step for each entry, as LMDB keeps no
// numbers of a range; the kinds alone take a search each.
int bench_events_kinds(bench_events *store, bool counted, bench_result *result) {
  event_read read;
  index_key group = {.length = 0};
  uint64_t count = 0;
  MDB_val key, id;
  int code = start_events(store, store->indexes[KIND_AT], &read);
  if (code == 0) code = mdb_cursor_get(read.cursor, &key, &id, MDB_FIRST);
  while (code == 0) {
    size_t length = key.mv_size - 8;
    if (length != group.length || memcmp(key.mv_data, group.bytes, length) != 0) {
      if (group.length > 0) add_group(result, group.bytes + 1, group.length - 3, counted, count);
      memcpy(group.bytes, key.mv_data, length);
      group.length = length;
      count = 0;
    }
    if (counted) {
      count += 1;
      code = mdb_cursor_get(read.cursor, &key, &id, MDB_NEXT);
    } else {
      index_key next = group;
      next.bytes[next.length - 1] = 1;
      key = (MDB_val){next.length, next.bytes};
      code = mdb_cursor_get(read.cursor, &key, &id, MDB_SET_RANGE);
    }
  }
  if (group.length > 0) add_group(result, group.bytes + 1, group.length - 3, counted, count);
  return end_events(&read, code);
}

int bench_events_devices(bench_events *store, bench_result *result) {
  event_read read;
  MDB_val key, id;
  int code = start_events(store, store->indexes[DEVICE], &read);
  if (code == 0) code = mdb_cursor_get(read.cursor, &key, &id, MDB_FIRST);
  while (code == 0) {
    size_t count;
    code = mdb_cursor_count(read.cursor, &count);
    add_group(result, (const unsigned char *)key.mv_data + 1, key.mv_size - 1, true, count);
    if (code == 0) code = mdb_cursor_get(read.cursor, &key, &id, MDB_NEXT_NODUP);
  }
  return end_events(&read, code);
}

int bench_events_scan(bench_events *store, bool all_bytes, bench_result *result) {
  event_read read;
  MDB_val key, value;
  int code = start_events(store, store->events, &read);
  while (code == 0) {
    code = mdb_cursor_get(read.cursor, &key, &value, MDB_NEXT);
    if (code == 0) add_event(result, key.mv_data, &value, all_bytes);
  }
  return end_events(&read, code);
}
