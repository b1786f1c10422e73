/* Measures one topic in a separate process, and sends the report to the parent process. */
const [name] = process.argv.slice(2);
const { title, measure } = await import(new URL(`./topics/${name}.ts`, import.meta.url).href);
process.send?.({ title, ...(await measure()) }, () => process.exit());
