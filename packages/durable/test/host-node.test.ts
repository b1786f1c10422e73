import { nodeHost } from "@sluice/durable/node";
import { hostTests } from "@sluice/durable/testing";
import { describe, test } from "vitest";

describe("SQLite in one process", () => {
  hostTests({
    open(part) {
      const host = nodeHost({ file: ":memory:" });
      const bound = host.open({ parts: [part], report: () => {} })({});
      return { host: bound, close: () => host.close(100) };
    },
    test,
  });
});
