with recursive series(n) as (select 1 union all select n + 1 from series) select count(*) from series;
