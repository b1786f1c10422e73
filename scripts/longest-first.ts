import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take long, the longest first: where a worker gets one of them last, the other cores have nothing left to do.
 * Without results of an earlier run, vitest knows no more than the sizes of files.
 */
const longest = [
  "durable/test/notify.test.ts",
  "durable/test/notify-threats.test.ts",
  "durable/test/media-archive-threats.test.ts",
  "worker-proxy/test/attack-streams.test.ts",
  "worker-proxy/test/fuzz.test.ts",
  "durable/test/media-threats.test.ts",
  "tests/simulation.test.ts",
  "tests/studio/shell.test.ts",
  "tests/tasks-in-pages.test.ts",
  "tests/added-apps.test.ts",
  "tests/new-apps.test.ts",
  "tests/minimal-chat.test.ts",
  "tests/worker-template-durable.test.ts",
  "tests/worker-template.test.ts",
  "tests/studio/load.test.ts",
  "tests/studio/demo.test.ts",
  "tests/studio/snippets.test.ts",
  "tests/chats-in-pages.test.ts",
  "tests/docs-testing.test.ts",
];

/** Order of the test files: as vitest's own, but the longest of each project come first. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return sorted.sort(
      (a, b) => projects.indexOf(a.project) - projects.indexOf(b.project) || placeOf(a) - placeOf(b),
    );
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = longest.findIndex((path) => moduleId.endsWith(`/${path}`));
  return place < 0 ? longest.length : place;
}
