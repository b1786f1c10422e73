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
  "tests/simulation/simulation.test.ts",
  "tests/studio/shell.test.ts",
  "tests/pages/tasks-in-pages.test.ts",
  "tests/apps/added-apps.test.ts",
  "tests/apps/new-apps.test.ts",
  "tests/apps/minimal-chat.test.ts",
  "tests/apps/worker-template-durable.test.ts",
  "tests/apps/worker-template.test.ts",
  "tests/studio/load.test.ts",
  "tests/studio/demo.test.ts",
  "tests/studio/snippets.test.ts",
  "tests/pages/chats-in-pages.test.ts",
  "tests/docs/docs-testing.test.ts",
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
