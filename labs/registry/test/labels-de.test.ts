import { expect, test } from "vitest";
import { fieldLabels as english, type FieldLabels } from "@/components/sluice/field-labels";
import { fieldLabels as german } from "@/components/sluice/field-labels-de";
import { imageForm } from "@/components/sluice/image-form";

/** All texts below a value, by their path: `fields.size.label`. */
function textsOf(value: unknown, path = ""): [string, string][] {
  if (typeof value === "string") return [[path, value]];
  return Object.entries(value as object).flatMap(([name, part]) =>
    textsOf(part, path ? `${path}.${name}` : name),
  );
}

/** Labels that both languages have. */
const shared = ["fields.add_logo.label"];

test("the German labels say all that the English ones say, in other words", () => {
  const originals = new Map(textsOf(english));
  const translated = textsOf(german);
  expect(translated.map(([path]) => path).sort()).toEqual([...originals.keys()].sort());
  for (const [path, text] of translated) {
    const original = originals.get(path) ?? "";
    expect.soft(text === "", path).toBe(original === "");
    if (text !== "" && !shared.includes(path)) expect.soft(text, path).not.toBe(original);
    expect.soft(text, path).not.toMatch(/\b(du|dein\w*|dich|Sie|Ihre?\w*)\b/);
  }
});

test("a form has German labels", () => {
  const { fields } = imageForm("gamma-image-5-0-260128", {}, { labels: german });
  expect(fields.map(({ label }) => label)).toContain("Größe");
});

test("a set of labels that lacks a field does not compile", () => {
  const { size, ...fields } = german.fields;
  // @ts-expect-error `size` is missing
  const labels: FieldLabels = { ...german, fields };
  expect([labels, size.label]).toHaveLength(2);
});
