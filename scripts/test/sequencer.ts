import { BaseSequencer, type TestSpecification } from "vitest/node";
import { readDurations } from "./durations.ts";
import { needsBuild } from "./tiers.ts";

/**
 * Share of all files above which a project may be split over the shards: each additional worker loads its modules
 * again.
 */
const SPLIT_ABOVE = 0.2;

/**
 * Order of the test files, by recorded durations. `--shard` splits the files into parts of equal duration. In each
 * part, projects that need the build come last, since the build runs in parallel.
 */
export default class Sequencer extends BaseSequencer {
  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index, count } = this.ctx.config.shard ?? { index: 1, count: 1 };
    const shards = Array.from({ length: count }, () => ({ seconds: 0, files: [] as TestSpecification[] }));
    const total = sumSeconds(files);
    const units = [...Map.groupBy(files, ({ project }) => project.name).values()].flatMap((unit) =>
      sumSeconds(unit) > total * SPLIT_ABOVE ? unit.map((file) => [file]) : [unit],
    );
    for (const unit of units.sort((a, b) => sumSeconds(b) - sumSeconds(a) || compareNames(a, b))) {
      const shortest = shards.reduce((a, b) => (b.seconds < a.seconds ? b : a));
      shortest.seconds += sumSeconds(unit);
      shortest.files.push(...unit);
    }
    return shards[index - 1]?.files ?? [];
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    if (this.ctx.config.sequence.shuffle) return files;
    const projects = [...Map.groupBy(files, ({ project }) => project.name)].map(([name, own]) => ({
      isLater: needsBuild(name) ? 1 : 0,
      seconds: sumSeconds(own),
      files: own.sort((a, b) => readSeconds(b) - readSeconds(a)),
    }));
    return projects
      .sort((a, b) => a.isLater - b.isLater || b.seconds - a.seconds)
      .flatMap((project) => project.files);
  }
}

function sumSeconds(files: readonly TestSpecification[]): number {
  return files.reduce((sum, file) => sum + readSeconds(file), 0);
}

/** Recorded seconds of a file, or one second for a new file. */
function readSeconds({ project, moduleId }: TestSpecification): number {
  return readDurations()[project.name]?.[moduleId.replace(`${process.cwd()}/`, "")] ?? 1;
}

function compareNames([a]: readonly TestSpecification[], [b]: readonly TestSpecification[]): number {
  return `${a?.project.name} ${a?.moduleId}` < `${b?.project.name} ${b?.moduleId}` ? -1 : 1;
}
