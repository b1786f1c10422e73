import { render, screen } from "@testing-library/react";
import { useSyncExternalStore, version } from "react";
import { version as domVersion } from "react-dom";
import { version as serverVersion } from "react-dom/server";
import { expect, inject, test } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    reactMajor: "18" | "19";
  }
}

function Version() {
  return (
    <output>
      {useSyncExternalStore(
        () => () => {},
        () => version,
      )}
    </output>
  );
}

test("sources, tests and the testing library use the same version of React", () => {
  render(<Version />);
  const versions = [screen.getByRole("status").textContent, version, domVersion, serverVersion];
  const majors = versions.map((of) => of?.split(".")[0]);
  expect(new Set(majors)).toEqual(new Set([inject("reactMajor")]));
});
