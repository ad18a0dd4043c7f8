// Writes the front page of the site, index.md, from the README of the project: node front.mjs README.md FOLDER
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [readme, folder] = process.argv.slice(2)
const text = readFileSync(readme, 'utf8')
const part = (what, pattern) => {
  const found = text.match(pattern)
  if (!found) throw new Error(`${readme} has no ${what}`)
  return found[1].replaceAll('](docs/', '](')
}
const claim = part('first sentence', /^\*\*(.+?)\*\*$/m)
const more = part('second paragraph', /^\*\*.+?\*\*\n(.+)$/m)
const install = part('line about installing', /^## Install\n\n(.+?) Then$/m)
const table = part('table of questions', /^(\| you ask [\s\S]+?)\n\n/m)
const pictures = [...text.matchAll(/^!\[(.+?)\]\(docs\/(.+?)\)$/gm)].map(([, told, file]) => ({ told, file }))
const [first] = pictures
const told = words => words.replaceAll('"', '&quot;')

writeFileSync(join(folder, 'index.md'), `---
layout: page
sidebar: false
title: Winnow
titleTemplate: ${JSON.stringify(claim)}
---

<div class="vp-doc" style="max-width: 1152px; margin: 0 auto; padding: 32px 24px">
<div style="display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 32px; align-items: start">
<div>

# Winnow

**${claim}** ${more}

${install}

\`\`\`sh
winnow inspect latest   # the use of tokens
winnow compact latest   # a smaller session
winnow wrap claude      # prune as it works
\`\`\`

[Documents](documents) · [a tour](tour) · [savings and method](economics) · [questions](faq)

</div>
<a href="tour"><img src="./${first.file}" alt="${told(first.told)}" style="max-height: 340px; object-fit: cover; object-position: top; width: 100%; border: 1px solid var(--vp-c-divider)"></a>
</div>

${table}

</div>
`)
