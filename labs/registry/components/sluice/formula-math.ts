import "katex/dist/katex.min.css";
import { createMathPlugin } from "@streamdown/math";

/** Draws formulas. This file is loaded with the first one: KaTeX is large. */
export const math = createMathPlugin({ errorColor: "var(--color-destructive, var(--destructive))" });
