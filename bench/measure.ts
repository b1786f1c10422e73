/* Measures one topic in a process of its own, and sends the report to the process that has started it. */
const [name] = process.argv.slice(2);
const { title, measure } = await import(new URL(`./topics/${name}.ts`, import.meta.url).href);
process.send?.({ title, ...(await measure()) }, () => process.exit());
