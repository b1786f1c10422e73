import { partialJSON } from "virtual:conformance";
import { createPartialJSON } from "@sluice/core/partial-json";
import { describe, expect, test } from "vitest";
import { createRandom, decodeBase64 } from "./support/gateway.js";
import {
  createRandomJSON,
  expectGrowth,
  isIncludedIn,
  isSameValue,
  read,
  splitRandomly,
} from "./support/partial-json.js";
import { describeRecorded } from "./support/recorded.js";

const characters = (text: string) => text.split("");

describeRecorded("recorded documents", partialJSON, (recorded) => {
  for (const [at, entry] of recorded.cases.entries()) {
    test(`${at}: ${entry.source}`, () => {
      if ("full" in entry) {
        expect(read(entry.full)).toStrictEqual({ value: JSON.parse(entry.full), state: "complete" });
        for (const reading of entry.prefixes) expectAccepted(reading, JSON.parse(entry.full));
      } else expectAccepted(entry);
    });
  }

  function expectAccepted(
    { prefix, accept, accept_none }: { prefix: string; accept: readonly unknown[]; accept_none: boolean },
    whole?: unknown,
  ) {
    for (const pieces of [[prefix], characters(prefix)]) {
      const { value, state } = read(...pieces);
      expect(state).not.toBe("malformed");
      const isAccepted =
        value === undefined
          ? accept_none
          : accept.some((one) => isSameValue(value, one)) ||
            (whole !== undefined && isIncludedIn(value, whole));
      expect(isAccepted, `${prefix} gave ${JSON.stringify(value)}`).toBe(true);
    }
  }

  test.each(recorded.malformed_complete_documents)("$source is not a whole document", ({ b64 }) => {
    const text = new TextDecoder().decode(decodeBase64(b64));
    expect(() => JSON.parse(text)).toThrow();
    expect(read(text).state).not.toBe("complete");
    expect(read(...characters(text))).toStrictEqual(read(text));
  });

  test.each(recorded.prototype_safety)("%s does not pollute a prototype", (text) => {
    for (const pieces of [[text], characters(text)]) {
      const document = createPartialJSON();
      for (const piece of pieces) {
        document.push(piece);
        structuredClone(document.value);
      }
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      expect(Object.getPrototypeOf(document.value)).toBe(Object.prototype);
      if (document.state === "complete") {
        expect(document.value).toEqual(JSON.parse(text));
        expect(JSON.stringify(document.value)).toBe(JSON.stringify(JSON.parse(text)));
      }
    }
  });
});

describe("a partial value", () => {
  test.each([
    ["", undefined],
    [" \t\r\n", undefined],
    ["{", {}],
    ["[", []],
    ['"', ""],
    ['"ab', "ab"],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a" :', {}],
    ['{"a":"', { a: "" }],
    ['{"a":"b\\', { a: "b" }],
    ['{"a":"b\\u00e', { a: "b" }],
    ['{"a":"b\\u00e9', { a: "bé" }],
    ['{"a":tru', {}],
    ['{"a":true', { a: true }],
    ['{"a":fals', {}],
    ['{"a":[null,nul', { a: [null] }],
    ["[1, 2", [1]],
    ["[1, 2 ", [1, 2]],
    ["[1, 2,", [1, 2]],
    ['[1.5e3, {"a": {"b": [], "c', [1500, { a: { b: [] } }]],
    ["12.5", 12.5],
    ["12.", undefined],
    ["-", undefined],
    ["2e", undefined],
    ["2e+", undefined],
    ["2e+3", 2000],
    ["-0", -0],
    ["n", undefined],
    ["null", null],
    ['{"a":{"b":1},"a":', { a: { b: 1 } }],
  ])("%s gives %j", (text, value) => {
    expect(read(text).value).toStrictEqual(value);
    expect(read(...characters(text)).value).toStrictEqual(value);
    expect(read(text).state).not.toBe("malformed");
  });

  test("never has half of a surrogate pair, however the pair is cut or escaped", () => {
    const [first, second] = ["😀".charAt(0), "😀".charAt(1)];
    expect(read(`"a${first}`).value).toBe("a");
    expect(read(`"a${first}`, second).value).toBe("a😀");
    expect(read('"a\\ud83d').value).toBe("a");
    expect(read('"a\\ud83d\\ude0').value).toBe("a");
    expect(read('"a\\ud83d\\ude00').value).toBe("a😀");
    expect(read('{"\\ud83d', '\\ude00":1}').value).toStrictEqual({ "😀": 1 });
  });

  test("has a lone surrogate as soon as it is certain", () => {
    expect(read('"\\ud83dx').value).toBe("\ud83dx");
    expect(read('"\\ud83d"').value).toBe("\ud83d");
    expect(read('"\\ud83d\\ud83d').value).toBe("\ud83d");
    expect(read('"\\ude00').value).toBe("\ude00");
    expect(read('"\\udbff').value).toBe("");
    expect(read('"\\ud800').value).toBe("");
    expect(read('["\\ud83d","a').value).toStrictEqual(["\ud83d", "a"]);
    expect(read('{"\\ud83d":1,"a":2').value).toStrictEqual({ "\ud83d": 1 });
  });

  test("keeps the part before an error", () => {
    expect(read('{"a":["b","c\n')).toStrictEqual({ value: { a: ["b", "c"] }, state: "malformed" });
    expect(read('{"a":[1,"b\\x"]}')).toStrictEqual({ value: { a: [1, "b"] }, state: "malformed" });
    expect(read('{"a":1}}')).toStrictEqual({ value: { a: 1 }, state: "malformed" });
    expect(read("[1,-]")).toStrictEqual({ value: [1], state: "malformed" });
    expect(read("12 13")).toStrictEqual({ value: 12, state: "malformed" });
    expect(read("?")).toStrictEqual({ value: undefined, state: "malformed" });
    expect(read('{"a":1,]', '"b":2}').value).toStrictEqual({ a: 1 });
  });
});

describe("the whole document", () => {
  test.each([
    "{}",
    "[]",
    ' \n\t\r{ "a" : [ 1 , "b" ] , "c" : { } } \n\t\r',
    "-0",
    "[-0,0,0.0,-0e-0,10,1e5,1E+5,1.25e-5,0.5e0]",
    "[12345678901234567890,1e400,-1e400,5e-324,0.1,123456789.123456789]",
    '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\uaBcD"',
    '"\\ud83d\\ude00 \\ud83d \\ude00 \\ud83d\\ud83d\\ude00"',
    '"\u007f\u2028\u2029\ufeff\uffff"',
    '{"b":1,"2":2,"a":3,"1":4}',
    '{"a":1,"b":{"c":2},"a":"last","b":{"d":3}}',
    '{"a":"last","b":2,"a":[]}',
    '{"":{"":{"":0}}}',
    '{"__proto__":{"a":1},"constructor":2,"toString":3,"hasOwnProperty":[]}',
    '{"__proto__":1,"__proto__":{"__proto__":"x"}}',
    '{"length":3,"0":1}',
    '[[[]],[{},[{"a":[true,false,null]}]]]',
  ])("%s gives the same value as JSON.parse", (text) => {
    const whole = JSON.parse(text);
    for (const pieces of [[text], characters(text)]) {
      const document = createPartialJSON();
      for (const piece of pieces) {
        document.push(piece);
        void document.value;
      }
      expect(document.value).toStrictEqual(whole);
      expect(JSON.stringify(document.value)).toBe(JSON.stringify(whole));
      expect(structuredClone(document.value)).toStrictEqual(structuredClone(whole));
      expect(document.state).toBe("complete");
    }
  });

  test("has the name of a prototype's property as an own, writable property", () => {
    for (const text of ['{"__proto__": {"a": 1}}', '{"__proto__": {"a": 1}, "b": {"__proto__": 1']) {
      const { value } = read(text);
      expect(Object.getOwnPropertyDescriptor(value, "__proto__")).toStrictEqual({
        value: { a: 1 },
        writable: true,
        enumerable: true,
        configurable: true,
      });
      expect(value).not.toHaveProperty("a");
    }
  });
});

describe("the state", () => {
  test("is open until the document is whole", () => {
    const document = createPartialJSON();
    for (const piece of characters(' {"a": [1, tru')) {
      document.push(piece);
      expect(document.state).toBe("open");
    }
    document.push("e]}");
    expect(document.state).toBe("complete");
    document.push(" \n");
    expect(document.state).toBe("complete");
    document.push(",");
    expect(document.state).toBe("malformed");
    document.push("{}");
    expect(document.state).toBe("malformed");
    expect(document.value).toStrictEqual({ a: [1, true] });
  });

  test("is complete after each character that can end a number", () => {
    const document = createPartialJSON();
    const states = characters("-10.5e+7 ").map((piece) => {
      document.push(piece);
      return [document.state, document.value];
    });
    expect(states).toStrictEqual([
      ["open", undefined],
      ["complete", -1],
      ["complete", -10],
      ["open", undefined],
      ["complete", -10.5],
      ["open", undefined],
      ["open", undefined],
      ["complete", -105_000_000],
      ["complete", -105_000_000],
    ]);
  });

  const malformed = [
    ..."}]:,?'x+.`\u00a0\u000b\u000c\ufeff\u0000".split(""),
    ...[
      "[,",
      "[1,]",
      "[1 2",
      '["a" "',
      "[1}",
      "[}",
      "[:",
      '["a":',
      "[1,,",
      "[tx",
      "[trux",
      "[nul]",
      "[T",
      "[truee",
    ],
    ...[
      "{,",
      "{]",
      "{1",
      "{a",
      '{"a",',
      '{"a"}',
      '{"a"1',
      '{"a"::',
      '{"a":}',
      '{"a":,',
      '{"a":1,}',
      '{"a":1,,',
      '{"a":1]',
      '{"a":1 "',
      '{"a":1:',
    ],
    ...[
      "[01",
      "[-01",
      "[00",
      "[--",
      "[-x",
      "[+",
      "[.",
      "[1.]",
      "[1.e",
      "[1..",
      "[1.5.",
      "[1e]",
      "[1ee",
      "[1e+-",
      "[1e+]",
      "[1e1.",
      "[1e1e",
      "[1-",
      "[1+",
      "[0x",
      "[-]",
      "[1_",
    ],
    ...[
      '"\n',
      '"\u0000',
      '"\u001f',
      '"\\x',
      '"\\U',
      '"\\\n',
      '"\\u"',
      '"\\u00g',
      '"\\u000\\',
      '"\\u-',
      '"a"b',
      '"a""',
      '{"\t',
      '{"\\q',
    ],
    ...["{}{", "[][", "[]]", "{}}", "1 1", "truet", "nulll", "true,", "{} x", "\ufeff{}", "-a", "1a"],
  ];

  test.each(malformed)("is malformed at the last character of %j", (text) => {
    const head = text.slice(0, -1);
    if (text !== "\ufeff{}") expect(read(head).state, head).not.toBe("malformed");
    expect(read(text).state).toBe("malformed");
    expect(read(...characters(text))).toStrictEqual(read(text));
    for (const ending of ["", "]", "}", '"', '"]', '"}', "1]", ":1}"])
      expect(() => JSON.parse(text + ending)).toThrow();
  });

  test("allows 500 nested arrays and objects, or the given number", () => {
    expect(read("[".repeat(500) + "]".repeat(500)).state).toBe("complete");
    expect(read('{"a":'.repeat(500)).state).toBe("open");
    expect(read("[".repeat(501)).state).toBe("malformed");
    expect(read("[".repeat(100_000)).state).toBe("malformed");
    expect(read(`[${"[],".repeat(1000)}[]]`).state).toBe("complete");
    const document = createPartialJSON({ maxDepth: 1 });
    document.push('[1,"a",');
    expect(document.state).toBe("open");
    document.push("{");
    expect(document.state).toBe("malformed");
    expect(document.value).toStrictEqual([1, "a"]);
  });

  test("does not overflow the stack with a very high depth limit", () => {
    const document = createPartialJSON({ maxDepth: Number.POSITIVE_INFINITY });
    document.push("[".repeat(100_000));
    expect(document.value).toHaveLength(1);
    document.push("]".repeat(100_000));
    expect(document.value).toHaveLength(1);
    expect(document.state).toBe("complete");
  });
});

describe("the value during parsing", () => {
  test("is the same object until it changes", () => {
    const document = createPartialJSON();
    document.push('{"a":{"b":"c"');
    const value = document.value;
    for (const piece of [" ", "", "}", ' , "d', 'e" : ', "-1", "2.", "5"]) {
      document.push(piece);
      expect(document.value).toBe(value);
    }
    document.push("}");
    expect(document.value).toStrictEqual({ a: { b: "c" }, de: -12.5 });
  });

  test("is the same object during an escape, a literal or a surrogate pair", () => {
    const document = createPartialJSON();
    document.push('["a');
    const value = document.value;
    for (const piece of ["\\", "u", "d83", "d", "\\", "ude0"]) {
      document.push(piece);
      expect(document.value).toBe(value);
    }
    document.push("0");
    const emoji = document.value;
    expect(emoji).toStrictEqual(["a😀"]);
    document.push('",');
    document.push("nul");
    expect(document.value).toBe(emoji);
    document.push("l]");
    expect(document.value).toStrictEqual(["a😀", null]);
  });

  test("keeps the identity of whole parts when the document closes", () => {
    const document = createPartialJSON();
    document.push('[{"a":[1, {"b":"c"}');
    const value = document.value;
    document.push("]}]");
    expect(document.value).toBe(value);
    expect(document.state).toBe("complete");
  });

  test("contains a closed part that was never read while open", () => {
    const document = createPartialJSON();
    document.push('{"a":["b');
    void document.value;
    document.push('c","d"],"e":[]}');
    expect(document.value).toStrictEqual({ a: ["bc", "d"], e: [] });
  });

  test("shares only unchanged parts with the previous value", () => {
    const document = createPartialJSON();
    document.push('{"a":{"x":[1]},"b":[{"y":"1"},{"z":["p');
    const before = document.value as { a: object; b: [object, { z: object }] };
    document.push("q");
    const after = document.value as typeof before;
    expect(after).not.toBe(before);
    expect(after.a).toBe(before.a);
    expect(after.b).not.toBe(before.b);
    expect(after.b[0]).toBe(before.b[0]);
    expect(after.b[1]).not.toBe(before.b[1]);
    expect(after.b[1].z).not.toBe(before.b[1].z);
    expect(before).toStrictEqual({ a: { x: [1] }, b: [{ y: "1" }, { z: ["p"] }] });
    expect(after).toStrictEqual({ a: { x: [1] }, b: [{ y: "1" }, { z: ["pq"] }] });
  });

  test("Readings of a long string are right at every length", () => {
    const text = Array.from({ length: 1000 }, (_, at) => `${at}😀\n`).join("");
    const document = createPartialJSON();
    const json = JSON.stringify({ [text]: text, after: "short" });
    for (let at = 0; at < json.length; at += 7) {
      document.push(json.slice(at, at + 7));
      const { [text]: value } = (document.value ?? {}) as Record<string, string>;
      if (value !== undefined && !text.startsWith(value)) expect(value).toBe(text.slice(0, value.length));
    }
    expect(document.value).toStrictEqual({ [text]: text, after: "short" });
  });
});

describe("random documents in random cuts", () => {
  const title = "grow towards JSON.parse's value, by snapshots that never change (seed %i)";
  test.each([1, 2, 3, 4])(title, (seed) => expectGrowth(seed, 15));

  test.each([1, 2, 3, 4])("agree with JSON.parse about malformed documents (seed %i)", (seed) => {
    const random = createRandom(seed);
    for (let round = 0; round < 500; round += 1) {
      const text = createRandomJSON(random);
      const at = Math.floor(random() * text.length);
      const change = '{}[]:,"\\0-.eE+tfn u\n'.charAt(Math.floor(random() * 20));
      const changed = text.slice(0, at) + change + text.slice(at + Math.floor(random() * 2));
      const { value, state } = read(...splitRandomly(changed, random));
      const parsed = parse(changed);
      expect(state === "complete", changed).toBe(parsed !== undefined);
      if (parsed !== undefined) expect(value).toStrictEqual(parsed);
      expect(value).toStrictEqual(read(changed).value);
    }
  });

  function parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }
});

test.each([
  ["A byte order mark", "\ufeff{}"],
  ["A fence of Markdown", "```json\n{}\n```"],
  ["A document that is nested deeper than maxDepth", "[".repeat(501)],
])("%s is malformed, as the reference says", (_, text) => {
  const document = createPartialJSON();
  document.push(text);
  expect(document.state).toBe("malformed");
});
