select ?1 as first, ?2 as second, $3 as third, quote(?4) as fourth;
select count(*) as words from (select ?1 as word union all select ?2 union all select ?3 union all select ?4);
